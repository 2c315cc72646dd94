"""What can be so in a scene: one module for every kind of fact.

A fact draws a value, says it in a sentence or as fields of a record, and asks for it. Answers are
computed from values alone.
"""

from __future__ import annotations
