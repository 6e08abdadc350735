"""Neural models on the CPU: sessions, tokenizers, cores."""
