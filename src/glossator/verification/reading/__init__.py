"""What words assert: quantities, negation, modality and quantifiers, in five languages."""
