"""A written output or a request body against what was asked of it."""
