"""What the suites share: families, settings, domains, fields, clauses, rules, layouts, words.

May import no suite.
"""
