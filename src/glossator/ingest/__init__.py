"""A path, a site or a file becomes documents, and documents become chunks."""
