"""Questions about mazes and snakes: the fifteen benchmark families, held-out and auxiliary ones.

May import ``worlds`` and ``base``.
"""
