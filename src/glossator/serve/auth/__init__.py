"""Authentication and authorisation: API keys, widget tokens, scopes."""
