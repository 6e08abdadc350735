"""Generates labelled claims from the sentences of a book."""
