"""Embeddings: texts become vectors, locally or through an API."""
