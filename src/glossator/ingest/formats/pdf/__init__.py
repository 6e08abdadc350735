"""PDF: lines of text become paragraphs, headings, lists and code, each on its page."""
