"""Families that no training question is drawn from, one file each.

Their words stand in ``wordings.json``. May import ``ask``, ``scene`` and ``words``.
"""
