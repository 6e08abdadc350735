"""Parsing of untrusted formats in child processes, with limits of time and memory."""
