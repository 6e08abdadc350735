"""The layers around every request: context, limits, errors, timeouts."""
