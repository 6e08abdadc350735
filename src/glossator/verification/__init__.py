"""A draft and its passages become verdicts: what the passages do not say does not leave."""
