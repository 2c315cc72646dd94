"""Teaching a checkpoint a caller's own questions from labels: light heads, no torch."""
