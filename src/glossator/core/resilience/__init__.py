"""Dealing with services that fail: retries, timeouts, circuit breakers."""
