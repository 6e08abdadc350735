"""Splits a streamed draft into claims with their citations."""
