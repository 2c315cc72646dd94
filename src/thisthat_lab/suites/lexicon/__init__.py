"""Everyday knowledge from a dictionary of word senses: meanings, kinds, opposites, odd ones out.

May import ``base``; reads the database files of WordNet 3 from a folder that the caller names.
"""

from __future__ import annotations

from thisthat_lab.suites.lexicon.streams import LexiconSettings, training_items

__all__ = ["LexiconSettings", "training_items"]
