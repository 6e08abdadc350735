"""reStructuredText: read by docutils, with the roles and directives of Sphinx; nothing of a page is executed."""
