"""The fifteen families of the benchmark, one file each.

Their words stand in ``wordings.json``. May import ``ask``, ``scene`` and ``words``.
"""
