"""What a text is about, from a catalogue of software: its summary, section, use and next sentence.

May import ``base``; reads the package index and the descriptions of a Debian release from files
that the caller names.
"""

from __future__ import annotations

from thisthat_lab.suites.catalogue.streams import CatalogueSettings, training_items

__all__ = ["CatalogueSettings", "training_items"]
