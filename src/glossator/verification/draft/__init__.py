"""A draft as it arrives becomes claims, each with its citations."""
