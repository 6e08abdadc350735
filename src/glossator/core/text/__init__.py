"""Text processing: sentences, words, and deep links to quotes."""
