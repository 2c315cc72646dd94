"""Prompts spelled out piece by piece: what each format encodes apart, by hand.

A piece is a text to encode on its own, or a number: the token of that label. A case is the pieces
on the path from the first token to the last slot of a row.
"""

from __future__ import annotations

from dataclasses import dataclass

from thisthat import Boolean, Choice, Score
from thisthat.prompt_format import Layout, Packing, PromptFormat
from thisthat.questions import Question, Text

Pieces = list[str | int]

REFUND = Boolean("Is it within policy?", true="at most 30 days", false="later")
QUEUE = Choice({"billing": "charges and refunds", "shipping": None}, "Which queue?")
ANGER = Score(["calm", "furious"], "How angry?")
TWELVE = Choice([f"team {n}" for n in range(12)], "Which team?")
STATE = "Order 1187:\n\n paid 29 days ago"
ROWS = [{"id": n} if n % 2 else n for n in range(8)]


@dataclass(frozen=True)
class Case:
    name: str
    form: PromptFormat
    state: Text
    questions: list[Question]
    layout: Layout
    packing: Packing
    pieces: Pieces


def wide(options: list[str]) -> Pieces:
    """More than ten options: label and text of each apart."""
    pieces: Pieces = []
    for index, option in enumerate(options):
        pieces += ["\n(", index, f") {option}"]
    return pieces


OURS = PromptFormat()
DECIDER = PromptFormat("decider")
FLOCK = PromptFormat("flock", legend=True)
PUBLISHED = PromptFormat("flock")
TEAMS = [f"team {n}" for n in range(12)]
LEGEND = "Which queue?\n\nOptions:\n- billing: charges and refunds\n- shipping"
TWELVE_LEGEND = "Which team?\n\nOptions:\n" + "\n".join(f"- {team}" for team in TEAMS)
REFUND_LEGEND = "Is it within policy?\n\nOptions:\n- no: later\n- yes: at most 30 days"
ANGER_LEGEND = "How angry?\n\nLevels:\n- 0: calm\n- 1: furious"

CASES = [
    Case(
        "thisthat, state first, boolean",
        OURS,
        STATE,
        [REFUND],
        "state-first",
        "apart",
        [
            "Context:\n",
            STATE,
            "\n\nQuestion: Is it within policy?\nOptions:",
            "\n(A) no: later\n(B) yes: at most 30 days",
            "\nAnswer: (",
        ],
    ),
    Case(
        "thisthat, state first, wide",
        OURS,
        STATE,
        [TWELVE],
        "state-first",
        "apart",
        ["Context:\n", STATE, "\n\nQuestion: Which team?\nOptions:", *wide(TEAMS), "\nAnswer: ("],
    ),
    Case(
        "thisthat, schema first, together",
        OURS,
        STATE,
        [QUEUE, ANGER],
        "schema-first",
        "together",
        [
            "Question 1: Which queue?\nOptions:",
            "\n(A) billing: charges and refunds\n(B) shipping",
            "\n\nQuestion 2: How angry?\nOptions:",
            "\n(A) 0: calm\n(B) 1: furious",
            "\n\nContext:\n",
            STATE,
            "\n\nAnswer 1: (",
            "\nAnswer 2: (",
        ],
    ),
    Case(
        "thisthat, one token per cell",
        PromptFormat(cell_tokens=True),
        "Map:\n#.#\n#A#\n###",
        [REFUND],
        "schema-first",
        "apart",
        [
            "Question: Is it within policy?\nOptions:",
            "\n(A) no: later\n(B) yes: at most 30 days",
            "\n\nContext:\n",
            "Map:\n",
            "#",
            ".",
            "#",
            "\n",
            "#",
            "A",
            "#",
            "\n",
            "#",
            "#",
            "#",
            "\n\nAnswer: (",
        ],
    ),
    Case(
        "decider, state first, narrow: a question is one encode",
        DECIDER,
        STATE,
        [QUEUE],
        "state-first",
        "apart",
        [
            f"Context:\n{STATE}",
            "\n\nQuestion: Which queue?\nOptions:\n(A) billing: charges and "
            "refunds\n(B) shipping\nAnswer: (",
        ],
    ),
    Case(
        "decider, state first, together",
        DECIDER,
        STATE,
        [REFUND, ANGER],
        "state-first",
        "together",
        [
            f"Context:\n{STATE}",
            "\n\nQuestion 1: Is it within policy?\nOptions:\n(A) no: later\n(B) yes: at most "
            "30 days\nAnswer 1: (",
            "\n\nQuestion 2: How angry?\nOptions:\n(A) 0: calm\n(B) 1: furious\nAnswer 2: (",
        ],
    ),
    Case(
        "decider, state first, wide",
        DECIDER,
        STATE,
        [TWELVE],
        "state-first",
        "apart",
        [f"Context:\n{STATE}", "\n\nQuestion: Which team?\nOptions:", *wide(TEAMS), "\nAnswer: ("],
    ),
    Case(
        "decider, schema first, narrow",
        DECIDER,
        STATE,
        [QUEUE],
        "schema-first",
        "apart",
        [
            "Question: Which queue?\nOptions:",
            "\n(A) billing: charges and refunds\n(B) shipping",
            "\n\nContext:\n",
            STATE,
            "\n\nAnswer: (",
        ],
    ),
    Case(
        "decider, schema first, wide",
        DECIDER,
        STATE,
        [TWELVE],
        "schema-first",
        "apart",
        [
            "Question: Which team?\nOptions:",
            *wide(TEAMS),
            "\n\nContext:\n",
            STATE,
            "\n\nAnswer: (",
        ],
    ),
    Case(
        "decider, isolated level",
        PromptFormat("decider", isolated_levels=True),
        STATE,
        [Score(["calm", "furious"], "How?")],
        "state-first",
        "together",
        [
            f"Context:\n{STATE}",
            "\n\nQuestion 1: How?\nProposed answer: calm\nDoes the proposed answer fit?\nOptions:"
            "\n(A) no\n(B) yes\nAnswer 1: (",
            "\n\nQuestion 2: How?\nProposed answer: furious\nDoes the proposed answer fit?"
            "\nOptions:\n(A) no\n(B) yes\nAnswer 2: (",
        ],
    ),
    Case(
        "decider, long JSON arrays are numbered",
        DECIDER,
        {"rows": ROWS, "ok": True},
        [Boolean("Is it?")],
        "state-first",
        "apart",
        [
            'Context:\n{"rows": [{"_index": 0, "value": 0}, {"_index": 1, "id": 1}, '
            '{"_index": 2, "value": 2}, {"_index": 3, "id": 3}, {"_index": 4, "value": 4}, '
            '{"_index": 5, "id": 5}, {"_index": 6, "value": 6}, {"_index": 7, "id": 7}], '
            '"ok": true}',
            "\n\nQuestion: Is it?\nOptions:\n(A) no\n(B) yes\nAnswer: (",
        ],
    ),
    Case(
        "flock, state first, narrow: header, options and answer are three encodes",
        FLOCK,
        STATE,
        [QUEUE],
        "state-first",
        "apart",
        [
            f"Context:\n{STATE}",
            f"\n\nQuestion: {LEGEND}\nOptions:",
            "\n(A) billing\n(B) shipping",
            "\nAnswer: (",
        ],
    ),
    Case(
        "flock, state first, boolean and score together",
        FLOCK,
        STATE,
        [REFUND, ANGER],
        "state-first",
        "together",
        [
            f"Context:\n{STATE}",
            f"\n\nQuestion 1: {REFUND_LEGEND}\nOptions:",
            "\n(A) no\n(B) yes",
            "\nAnswer 1: (",
            f"\n\nQuestion 2: {ANGER_LEGEND}\nOptions:",
            "\n(A) 0\n(B) 1",
            "\nAnswer 2: (",
        ],
    ),
    Case(
        "flock, state first, wide",
        FLOCK,
        STATE,
        [TWELVE],
        "state-first",
        "apart",
        [
            f"Context:\n{STATE}",
            f"\n\nQuestion: {TWELVE_LEGEND}\nOptions:",
            *wide(TEAMS),
            "\nAnswer: (",
        ],
    ),
    Case(
        "flock, schema first, narrow, JSON state as it is",
        FLOCK,
        {"rows": ROWS},
        [Boolean("Is it?")],
        "schema-first",
        "apart",
        [
            "Question: Is it?\nOptions:",
            "\n(A) no\n(B) yes",
            "\n\nContext:\n",
            '{"rows": [0, {"id": 1}, 2, {"id": 3}, 4, {"id": 5}, 6, {"id": 7}]}',
            "\n\nAnswer: (",
        ],
    ),
    Case(
        "flock, schema first, wide",
        FLOCK,
        STATE,
        [TWELVE],
        "schema-first",
        "apart",
        [
            f"Question: {TWELVE_LEGEND}\nOptions:",
            *wide(TEAMS),
            "\n\nContext:\n",
            STATE,
            "\n\nAnswer: (",
        ],
    ),
]

WINDOW = (
    "Agent coordinate: (1,5); zero-based row and column. Rows increase south; columns increase "
    "east. The local window is centered on A. '#': wall; '.': open; 'A': agent; 'X': outside.\n"
    "Local map:\nXXXXX\n#####\n..A##\n#####\n...##"
)
MAP = (
    "Maze 5x5. Coordinates are zero-based (row,column). Agent=(1,1), goal=(3,3).\n#=wall, .=free, "
    "A=agent, G=goal, @=agent at goal. Move one cell north/east/south/west; no diagonals or "
    "wraparound. Stop on the goal.\n#####\n#A..#\n#.#.#\n#..G#\n#####"
)
CELLS = '{"agent": [1, 5], "rows": ["XXXXX", "#####", "..A##", "#####", "...##"]}'
TRAVERSABLE = (
    "Use the local map: '.' and 'A' are traversable, '#' is a wall, and 'X' is outside the maze."
)
RECORDED = (
    "If the agent attempts one cell north (row minus one, same column), will the destination be "
    f"inside the maze and not a wall? {TRAVERSABLE}"
)
NORTH = "The destination of the one-cell north attempt is {}."
STEPS = [
    f"If the agent attempts one cell {way} ({delta}), will the destination be inside the maze and "
    f"not a wall? {TRAVERSABLE}"
    for way, delta in {"north": "row-1", "east": "col+1", "south": "row+1", "west": "col-1"}.items()
]
NOISY = (
    "Under the stated random actuator, will this one move be collision-free? The attempted move "
    "stays inside the maze and does not enter a wall."
)
ACTUATOR = (
    f"{MAP}\nActuator: execute north with probability 0.9; otherwise choose uniformly among south, "
    "east, west."
)
MOVES = "How many moves remain on the shortest path from the agent to the goal?"
BANDS = ["1-4 moves", "5-16 moves", "17-64 moves", "65-256 moves", "257 or more moves"]
LEVELS = [
    "Already at the goal: zero moves remain.",
    *(
        f"The shortest path requires {moves} moves."
        for moves in ("1 to 4", "5 to 16", "17 to 64", "65 to 256", "257 or more")
    ),
    "The goal is unreachable from the agent.",
]


def asked(number: str, text: str, options: list[str]) -> Pieces:
    """A question as the published scripts encode it: header, options and answer apart."""
    lines = "".join(
        f"\n({letter}) {option}" for letter, option in zip("ABCDEFGHIJ", options, strict=False)
    )
    told = wide(options) if len(options) > 10 else [lines]
    return [f"\n\nQuestion{number}: {text}\nOptions:", *told, f"\nAnswer{number}: ("]


def _one(name: str, state: str, question: Question, text: str, options: list[str]) -> Case:
    pieces = [f"Context:\n{state}", *asked("", text, options)]
    return Case(f"published, {name}", PUBLISHED, state, [question], "state-first", "apart", pieces)


def _four(name: str, state: str) -> Case:
    pieces: Pieces = [f"Context:\n{state}"]
    for place, text in enumerate(STEPS, start=1):
        pieces += asked(f" {place}", text, ["no", "yes"])
    questions: list[Question] = [Boolean(text) for text in STEPS]
    return Case(
        f"published, {name}", PUBLISHED, state, questions, "state-first", "together", pieces
    )


BLOCKED, FREE = (
    NORTH.format("a wall or outside the maze"),
    NORTH.format("inside the maze and traversable"),
)
CASES += [
    _one(
        "recorded cohort and latency",
        WINDOW,
        Boolean(RECORDED, true=FREE, false=BLOCKED),
        RECORDED,
        [f"no: {BLOCKED}", f"yes: {FREE}"],
    ),
    _one("noisy actuator", ACTUATOR, Boolean(NOISY), NOISY, ["no", "yes"]),
    _four("local geometry", WINDOW),
    _four("ladder, whole map", MAP),
    _one(
        "distance bands",
        MAP,
        Score(LEVELS, MOVES),
        MOVES,
        [f"{level}: {text}" for level, text in enumerate(LEVELS)],
    ),
    _one("spatial benchmark", MAP, Choice(BANDS, MOVES), MOVES, BANDS),
    _one("spatial benchmark, cells as JSON", CELLS, Boolean(STEPS[0]), STEPS[0], ["no", "yes"]),
]
