"""Where weights come from: the cache, a verified download, parent + lambda * delta, and the card.

May import the plain data at the root; no other package.
"""

from thisthat.checkpoint.card import Card, read_card, write_card
from thisthat.checkpoint.checkpoint import Checkpoint, describe
from thisthat.checkpoint.opening import open_checkpoint

__all__ = ["Card", "Checkpoint", "describe", "open_checkpoint", "read_card", "write_card"]
