"""Where an index lives: generations on disk, vectors in Qdrant Edge, documents in SQLite."""
