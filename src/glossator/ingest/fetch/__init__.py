"""Fetches URLs: the only place of an ingest that opens a connection."""
