"""The five contracts, a file each: thin translations to and from the pipeline."""
