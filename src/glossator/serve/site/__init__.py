"""Web pages: the book, the API reference, static assets and the widget."""
