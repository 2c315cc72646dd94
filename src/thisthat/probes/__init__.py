"""Texts planted into states to see what they do to decisions."""
