"""Ingest: reads folders and files into documents, and splits documents into chunks."""
