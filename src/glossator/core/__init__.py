"""Values, errors, settings and ports, shared by every stage."""
