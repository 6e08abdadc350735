"""Model Context Protocol: the server and its tools."""
