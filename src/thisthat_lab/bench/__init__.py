"""Measurements of any system: a registry, one file per measurement, one report.

May import ``suites``, ``train`` and the runtime; nothing but ``cli`` imports it.
"""
