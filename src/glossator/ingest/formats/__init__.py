"""File formats: each becomes HTML, and one extractor turns HTML into text and blocks."""
