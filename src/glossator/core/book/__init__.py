"""The book: its sources and the addresses of its pages."""
