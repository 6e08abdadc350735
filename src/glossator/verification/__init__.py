"""Checks whether passages support a sentence, and lets only supported sentences of a draft through."""
