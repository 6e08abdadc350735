"""Storage: the index (generations on disk, vectors in Qdrant Edge) and the records (SQLite or Postgres)."""
