"""When two worlds are the same one, and which side of the split a world is on.

A maze's group is its wall layout up to the eight symmetries of the square; agent, goal and seed
do not count. The split is a hash of the group, so no turned or mirrored copy crosses it.
What a model is shown has its own key as well (a window is a small part of a maze, and two mazes
can share one), and a shown state is for training only when both hashes say so.
"""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import numpy as np

from thisthat_lab.worlds.maze import Maze

Side: TypeAlias = Literal["train", "evaluation"]

HELD_OUT_SIZE = 50
EVALUATION_SHARE = 0.2


def group_of(maze: Maze) -> str:
    """The name of the maze's group: 16 hex digits, equal for all eight symmetric copies."""
    layout = np.frombuffer("".join(maze.rows).encode(), dtype=np.uint8)
    square = layout.reshape(maze.size, maze.size)
    copies = [
        face[::down, ::right].tobytes()
        for face in (square, square.T)
        for down in (1, -1)
        for right in (1, -1)
    ]
    return hashlib.sha256(b"%d:" % maze.size + min(copies)).hexdigest()[:16]


def side_of_group(group: str, size: int) -> Side:
    """Train or evaluation, by the group alone; a maze of side 50 is never for training."""
    if size == HELD_OUT_SIZE:
        return "evaluation"
    return side_of_key("group:" + group)


def side_of_key(key: str) -> Side:
    """Train or evaluation, by the hash of what a model is shown."""
    digest = hashlib.sha256(key.encode()).digest()
    return "evaluation" if digest[0] < 256 * EVALUATION_SHARE else "train"
