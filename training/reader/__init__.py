"""Trains the reader: the model that decides whether a passage supports a sentence and whether it answers a question."""
