"""Measurements of any system: a registry, one file per measurement, one report.

May import ``train``, ``suites`` and the runtime; nothing but ``cli`` imports it.
"""
