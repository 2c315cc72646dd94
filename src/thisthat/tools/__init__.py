"""Schemas as tools that an agent calls: typed in, typed out.

May import ``decide`` and the plain data at the root.
"""
