"""Several records beside each other: the same, which one, how many, when."""
