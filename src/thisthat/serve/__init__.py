"""The server: HTTP, wire formats, scheduling, the playground, and the service they share.

May import ``remote``, ``loop``, ``audit``, ``teach``, ``decide``, ``checkpoint``, ``prompt``,
``engine``, ``items`` and the plain data at the root.
"""
