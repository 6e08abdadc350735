"""File formats: each is converted to HTML, from which one extractor takes text and blocks."""
