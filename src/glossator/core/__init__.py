"""What every stage speaks: values, errors, settings and ports."""
