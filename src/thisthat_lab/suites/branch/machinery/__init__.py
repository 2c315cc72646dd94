"""What branch families are made of: branches, bands, points, and the patterns a file can declare.

May import ``base`` and ``records``, never ``families``.
"""
