"""The index: chunks with their vectors, documents, and generations that are switched atomically."""
