"""EPUB: the documents of an archive, in the order of its spine."""
