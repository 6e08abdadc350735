"""Tests for books: golden questions, and what became of them."""
