"""Families for training alone: quantities that the benchmark families are made of.

Their words stand in ``wordings.json``. May import ``ask``, ``scene``, ``words`` and ``families``.
"""
