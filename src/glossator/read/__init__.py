"""The reader model: does this passage support this sentence, does it answer this question."""
