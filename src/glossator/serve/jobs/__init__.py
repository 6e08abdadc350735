"""Ingest jobs: started by a request, run in a separate process, and visible to every worker."""
