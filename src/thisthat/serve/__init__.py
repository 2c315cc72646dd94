"""The server: HTTP, wire formats, scheduling, the playground, and the service they share.

May import ``audit``, ``remote``, ``decide``, ``engine``, ``prompt`` and the plain data at the root.
"""
