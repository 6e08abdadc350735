"""A live site as a source: its pages are found, fetched and read."""
