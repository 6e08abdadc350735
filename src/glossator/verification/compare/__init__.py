"""Where a claim is compared with a passage, and how they differ."""
