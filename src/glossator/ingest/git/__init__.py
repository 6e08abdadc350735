"""A git repository as a source: what is committed at a branch or tag, written to a folder and read from there."""
