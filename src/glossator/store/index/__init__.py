"""The index: chunks and their vectors, documents, and generations that are switched atomically."""
