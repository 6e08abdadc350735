"""Compares a claim with the sentences of a passage that match it best, and finds the differences."""
