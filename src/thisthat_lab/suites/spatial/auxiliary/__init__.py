"""Families for training alone: quantities that the benchmark families are made of.

A module has several in ``FAMILIES``; their words stand in ``wordings.json``. May import ``ask``,
``scene``, ``words`` and ``families``.
"""
