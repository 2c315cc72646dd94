"""Measurements: one file per measurement, one metrics module, one report."""
