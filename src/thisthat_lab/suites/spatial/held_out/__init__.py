"""Families that no training question is drawn from.

Their words stand in ``wordings.json``. May import ``ask``, ``scene`` and ``words``.
"""
