"""Questions with known answers: the item, files of items, and the metrics over them.

May import the plain data at the root; no other package.
"""
