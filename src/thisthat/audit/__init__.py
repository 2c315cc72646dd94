"""Who was told what, when, by which weights and policy: the decision log."""
