"""Worlds as text, and text back as worlds. Style 0 of every surface is the recorded wording.

May import ``worlds`` alone.
"""
