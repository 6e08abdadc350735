"""Claims that the passage does not support: a true sentence with one thing changed or added."""
