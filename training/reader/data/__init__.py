"""Training examples: passages with claims, questions, mutated sentences and statements from templates."""
