"""Binding: the state names a thing, one option is that thing. The first lesson, never measured.

A language model has to learn that a slot is answered by the label of the option that fits. Until
it does, every other question is noise to it; with nothing else to learn it takes a minute.
May import ``base`` alone.
"""

from __future__ import annotations

from thisthat_lab.suites.binding.streams import BindingSettings, training_items

__all__ = ["BindingSettings", "training_items"]
