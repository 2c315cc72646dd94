"""How much, how severe, how far: a score by a rubric, bands or points."""
