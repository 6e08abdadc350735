"""The reader model: whether a passage supports a claim, or answers a question."""
