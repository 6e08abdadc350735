"""A draft, as it streams in, becomes claims with their citations."""
