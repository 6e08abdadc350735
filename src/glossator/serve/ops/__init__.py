"""For operators: health, metrics, logs, tracing, the OpenAPI document."""
