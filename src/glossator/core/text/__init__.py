"""Text: where sentences end, which words carry meaning, links to exact words."""
