"""Teaching a checkpoint a caller's own questions from labels: light heads, no torch.

May import ``decide``, ``engine``, ``checkpoint``, ``items`` and the plain data at the root.
"""
