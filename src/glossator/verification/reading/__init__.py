"""Tokenizes text and labels quantities, negation, modality and quantifiers, in five languages."""
