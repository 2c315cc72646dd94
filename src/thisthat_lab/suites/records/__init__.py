"""Typed records, tests on their fields, rubrics, and the many ways to write them down.

May import ``base`` alone.
"""
