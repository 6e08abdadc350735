"""Word lists of the claim generator. They share nothing with the lexicon of the verifier that they help to measure."""
