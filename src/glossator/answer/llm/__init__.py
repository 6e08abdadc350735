"""Language models: providers, the chain with retries and circuit breakers, the agents and their prompts."""
