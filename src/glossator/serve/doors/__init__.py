"""The HTTP contracts, one file each: thin translations to and from the pipeline."""
