"""Evaluation of a book with golden questions."""
