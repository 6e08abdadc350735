"""Passages become the sentences of an answer."""
