"""Families of questions whose answers are computed, and the files that hold items."""
