"""How often a system is right on questions with known answers, and what its probabilities mean."""
