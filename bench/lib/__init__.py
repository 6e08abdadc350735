"""Shared by the benchmarks: question sets, claims, and mutations of sentences."""
