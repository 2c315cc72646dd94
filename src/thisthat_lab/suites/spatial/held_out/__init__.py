"""Families that no training question is drawn from, one file each."""
