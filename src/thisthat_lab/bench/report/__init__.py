"""Results for people: tables, plots, the report and the pages of the docs.

May import the anchors, the registry, results and timings; runs nothing.
"""
