"""Ingest jobs: started by a request, run in a process of their own, and visible to every worker."""
