"""A second way to every spatial answer: from the rendered text, by other algorithms.

Worlds are read back from the state's text; distances come from Dijkstra over a dictionary and
path counts from dynamic programming. Nothing of the package's oracle is used.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any

from thisthat_lab.worlds.render.snake import ShownSnake, parse_snake
from thisthat_lab.worlds.render.whole_map import parse_map
from thisthat_lab.worlds.render.window import parse_window

Cell = tuple[int, int]
Blanks = Mapping[str, Any]
STEP = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
WAYS = list(STEP)
COMPASS = ["north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"]


def go(cell: Cell, way: str) -> Cell:
    return cell[0] + STEP[way][0], cell[1] + STEP[way][1]


class Seen:
    """A window as a dictionary of cells."""

    def __init__(self, text: str) -> None:
        shown = parse_window(text)
        self.agent = shown.agent
        self.kind = {
            (self.agent[0] - 2 + row, self.agent[1] - 2 + column): mark
            for row, line in enumerate(shown.rows)
            for column, mark in enumerate(line)
        }

    def free(self, cell: Cell) -> bool:
        return self.kind[cell] in (".", "A")

    def exits(self, cell: Cell) -> list[str]:
        return [way for way in WAYS if self.free(go(cell, way))]


class Known:
    """A whole map as a set of free cells."""

    def __init__(self, text: str) -> None:
        whole = parse_map(text)
        self.agent, self.goal = whole.agent, whole.goal
        self.free = {
            (row, column)
            for row, line in enumerate(whole.rows)
            for column, mark in enumerate(line)
            if mark != "#"
        }
        self.far = {self.goal: 0}
        queue = [(0, self.goal)]
        while queue:
            far, cell = heapq.heappop(queue)
            for way in WAYS:
                there = go(cell, way)
                if there in self.free and far + 1 < self.far.get(there, 10**9):
                    self.far[there] = far + 1
                    heapq.heappush(queue, (far + 1, there))

    @property
    def distance(self) -> int:
        return self.far[self.agent]

    def paths(self) -> dict[Cell, int]:
        ways = {self.goal: 1}
        for cell in sorted(self.far, key=self.far.__getitem__)[1:]:
            ways[cell] = sum(
                ways[go(cell, way)]
                for way in WAYS
                if self.far.get(go(cell, way), -5) == self.far[cell] - 1
            )
        return ways

    def best(self, cell: Cell) -> list[str]:
        ends = {way: self.far[go(cell, way)] for way in WAYS if go(cell, way) in self.free}
        return [way for way in ends if ends[way] < self.far[cell]]

    def crossed(self) -> set[Cell]:
        assert self.paths()[self.agent] == 1
        cell, cells = self.agent, set()
        while cell != self.goal:
            cell = go(cell, self.best(cell)[0])
            cells.add(cell)
        return cells


def compass(origin: Cell, other: Cell) -> int:
    name = ("south" if other[0] > origin[0] else "north" if other[0] < origin[0] else "") + (
        "east" if other[1] > origin[1] else "west" if other[1] < origin[1] else ""
    )
    return COMPASS.index(name)


def plan_survives(seen: Seen, blanks: Blanks) -> int:
    cell, made = seen.agent, 0
    for name in ("first", "second", "third"):
        cell = go(cell, blanks[name])
        if not seen.free(cell):
            break
        made += 1
    return made


def only_way(seen: Seen, blanks: Blanks) -> int:
    exits = seen.exits((blanks["row"], blanks["column"]))
    return {0: 4, 1: WAYS.index(exits[0]) if exits else 4}.get(len(exits), 5)


def reach_two(seen: Seen, blanks: Blanks) -> int:
    cells = {
        end
        for way in seen.exits(seen.agent)
        for end in [go(seen.agent, way), *(go(go(seen.agent, way), on) for on in WAYS)]
        if seen.free(end)
    } - {seen.agent}
    return [0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5][len(cells)]


def dead_ends(seen: Seen, blanks: Blanks) -> int:
    inner = [c for c in seen.kind if max(abs(c[0] - seen.agent[0]), abs(c[1] - seen.agent[1])) < 2]
    return min(3, len([c for c in inner if seen.free(c) and len(seen.exits(c)) == 1]))


def row_count(seen: Seen, blanks: Blanks) -> int:
    axis = 0 if blanks["axis"] == "row" else 1
    return sum(seen.free(cell) for cell in seen.kind if cell[axis] == blanks["line"])


def plan_progress(known: Known, blanks: Blanks) -> int:
    cell = known.agent
    for way in blanks["moves"].split(", "):
        if cell != known.goal and go(cell, way) in known.free:
            cell = go(cell, way)
    after, before = known.far[cell], known.distance
    return 0 if after < before else 1 if after == before else 2


def band(known: Known, blanks: Blanks) -> int:
    return sum(known.distance > top for top in (4, 16, 64, 256))


def first_move(known: Known, blanks: Blanks) -> int:
    assert known.paths()[known.agent] == 1
    return WAYS.index(known.best(known.agent)[0])


def coordinate(known: Known, blanks: Blanks) -> int:
    cell = known.agent if blanks["who"] == "agent" else known.goal
    return int(blanks["numbers"].index(cell[0 if blanks["axis"] == "row" else 1]))


def nearer_move(known: Known, blanks: Blanks) -> int:
    first, second = (known.far[go(known.agent, blanks[name])] for name in ("first", "second"))
    assert first != second
    return 0 if first < second else 1


def snake_free(shown: ShownSnake, way: str) -> bool:
    head = go(shown.body[0], way)
    if min(head) < 0 or max(head) >= shown.size:
        return False
    hit = [place for place, cell in enumerate(shown.body) if cell == head]
    # Only the last cell moves away, and it stays when the snake eats, which it cannot do there.
    return not hit or hit == [len(shown.body) - 1]


def snake_moves(shown: ShownSnake, blanks: Blanks) -> int:
    return sum(snake_free(shown, w) for w in WAYS if go(shown.body[0], w) != shown.body[1])


WINDOW: dict[str, Callable[[Seen, Blanks], int]] = {
    "move_legal": lambda s, b: s.free(go(s.agent, b["direction"])),
    "move_two_step": lambda s, b: (
        s.free(go(s.agent, b["first"])) and s.free(go(go(s.agent, b["first"]), b["second"]))
    ),
    "blocked_pair": lambda s, b: {b["first"], b["second"]}.isdisjoint(s.exits(s.agent)),
    "cell_kind": lambda s, b: {"#": 0, ".": 1, "X": 2}[s.kind[b["row"], b["column"]]],
    "open_count": lambda s, b: len(s.exits((b["row"], b["column"]))),
    "only_way": only_way,
    "onward": lambda s, b: len(s.exits(go(s.agent, b["direction"]))) >= 2,
    "plan_survives": plan_survives,
    "stochastic": lambda s, b: b["executed"] in s.exits(s.agent),
    "reach_two": reach_two,
    "dead_ends": dead_ends,
    "row_count": row_count,
    "window_neighbour": lambda s, b: s.free(go((b["row"], b["column"]), b["direction"])),
}
MAP: dict[str, Callable[[Known, Blanks], int]] = {
    "goal_bearing": lambda k, b: compass(k.agent, k.goal),
    "first_move": first_move,
    "reachable_within": lambda k, b: k.distance <= b["k"],
    "distance_band": band,
    "same_line": lambda k, b: [
        k.agent[0] == k.goal[0],
        k.agent[1] == k.goal[1],
        True,
    ].index(True),
    "distance_parity": lambda k, b: (sum(k.agent) + sum(k.goal)) % 2,
    "plan_progress": plan_progress,
    "exact_distance": lambda k, b: k.distance - 1,
    "close_distance": lambda k, b: b["numbers"].index(k.distance),
    "distance_modulo_three": lambda k, b: k.distance % 3,
    "distance_modulo_four": lambda k, b: k.distance % 4,
    "nearer_cell": lambda k, b: int(k.far[b["one"]] > k.far[b["other"]]),
    "nearer_move": nearer_move,
    "next_step": lambda k, b: WAYS.index(k.best((b["row"], b["column"]))[0]),
    "on_path": lambda k, b: (b["row"], b["column"]) in k.crossed(),
    "manhattan": lambda k, b: b["numbers"].index(
        abs(k.agent[0] - k.goal[0]) + abs(k.agent[1] - k.goal[1])
    ),
    "coordinate": coordinate,
    "map_cell": lambda k, b: (b["row"], b["column"]) in k.free,
    "map_legal": lambda k, b: go(k.agent, b["direction"]) in k.free,
    "map_degree": lambda k, b: sum(go((b["row"], b["column"]), w) in k.free for w in WAYS),
}
SNAKE: dict[str, Callable[[ShownSnake, Blanks], int]] = {
    "snake_safe": lambda s, b: snake_free(s, b["direction"]),
    "snake_food": lambda s, b: compass(s.body[0], s.food or (0, 0)),
    "snake_length": lambda s, b: b["numbers"].index(len(s.body)),
    "snake_moves": snake_moves,
}


def slow_answer(family: str, state: str, blanks: Blanks) -> int:
    """The right answer to a question that is not negated."""
    if family in WINDOW:
        return int(WINDOW[family](Seen(state), blanks))
    if family in MAP:
        return int(MAP[family](Known(state), blanks))
    return int(SNAKE[family](parse_snake(state), blanks))
