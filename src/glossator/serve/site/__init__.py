"""Web pages: the reader's page, the API reference, static assets and the widget."""
