"""Verification: does a passage support a sentence, and the gate that shows only what is supported."""
