"""The one row builder: a state and questions in, token rows with slots out.

The builder alone places slots; no text, whatever it contains, can move one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from thisthat.engine.rows import Branch, Row, Slot, Tokens
from thisthat.errors import InvalidInputError, StateTooLongError
from thisthat.prompt.grid import Piece, split_grids
from thisthat.prompt.labels import Encode, label_table
from thisthat.prompt.wording import Ask, asks, state_text
from thisthat.prompt_format import Keep, Layout, Packing, PromptFormat
from thisthat.questions import Cut, Question, Text, check_text

EncodeMany = Callable[[Sequence[str]], Sequence[Sequence[int]]]
_NARROW = 10
_CACHED_CHARACTERS = 1 << 20
_LONGEST_CACHED = 1 << 14
_LONG_TEXT = 1 << 16
_CACHED_BRANCHES = 256
_GAP = "\n…\n"
_LONGEST_TOKEN = 256
"""In characters: no vocabulary has longer tokens, so far longer text need not be read."""


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """Token ids of a chat template around one user turn, thinking closed."""

    head: Tokens
    tail: Tokens


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Where a question's answer is read: (row, slot of that row) pairs.

    Empty for a question with a single option, usually one pair, one per level when a score is asked
    level by level.
    """

    at: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Rows for an engine and, for each question in order, where its answer is read."""

    rows: tuple[Row, ...]
    places: tuple[AnswerPlace, ...]
    cut: Cut | None

    @property
    def tokens(self) -> int:
        """Input tokens, counting a shared trunk once."""
        return sum(row.tokens for row in self.rows)

    def added_by(self, row: int, slot: int) -> int:
        """Tokens that would go with that slot, if it is the only one of its branch."""
        tree = self.rows[row]
        if len(tree.branches) == 1:
            return tree.tokens
        return len(tree.branches[slot].tokens)


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """Questions in one layout and packing, tokenised: a prompt without its state.

    ``prefixes`` and ``branches`` have an entry for every row when the schema comes first; otherwise
    there is one row, which starts with its only prefix and has all branches.
    """

    layout: Layout
    prefixes: tuple[Tokens, ...]
    branches: tuple[Branch, ...]
    places: tuple[AnswerPlace, ...]

    @property
    def longest(self) -> int:
        """Tokens of the longest path without its state and the state's introduction."""
        if self.layout == "schema-first":
            pairs = zip(self.prefixes, self.branches, strict=True)
            return max(len(prefix) + len(branch.tokens) for prefix, branch in pairs)
        return len(self.prefixes[0]) + max(len(branch.tokens) for branch in self.branches)


@dataclass(frozen=True, slots=True)
class _State:
    """A state's text, and its tokens if known."""

    text: str
    tokens: Tokens | None


class _Pieces(dict[str, Tokens]):
    """Token ids by text; starts anew when its texts have more than so many characters together."""

    def __init__(self, encode: Encode) -> None:
        super().__init__()
        self._encode = encode
        self._characters = 0

    def __missing__(self, text: str) -> Tokens:
        tokens = tuple(self._encode(text))
        if len(text) <= _LONGEST_CACHED:
            self._characters += len(text)
            if self._characters > _CACHED_CHARACTERS:
                self.clear()
                self._characters = len(text)
            self[text] = tokens
        return tokens


class PromptBuilder:
    """Builds rows in one checkpoint's format.

    ``encode`` gives token ids without special tokens, ``encode_many`` those of many texts in less
    time; ``chat_frame`` is required if the format says chat. Raises CheckpointError when the
    tokenizer lacks the 255 labels.
    """

    def __init__(
        self,
        encode: Encode,
        form: PromptFormat,
        chat_frame: ChatFrame | None = None,
        encode_many: EncodeMany | None = None,
    ) -> None:
        if form.chat and chat_frame is None:
            raise InvalidInputError("prompt.chat", "the checkpoint has no chat template")
        self.form = form
        self._frame = chat_frame if form.chat else None
        self._encode_text = encode
        self._encode_many = encode_many
        self._encode = _Pieces(encode).__getitem__
        self._plain_asks = lru_cache(_CACHED_BRANCHES)(lambda question: tuple(asks(question, form)))
        self._branch_after_state = lru_cache(_CACHED_BRANCHES)(self._question_branch)
        self.labels = label_table(encode)
        self._letters = tuple(self.labels)[:_NARROW]
        self.label_ids = tuple(self.labels.values())

    @cached_property
    def with_legend(self) -> PromptBuilder:
        """How the checkpoint's makers word questions on their HTTP wire; mostly just the same."""
        if self.form.family != "flock":
            return self
        form = replace(self.form, legend=True)
        return PromptBuilder(self._encode_text, form, self._frame, self._encode_many)

    @property
    def packing(self) -> Packing:
        """How several questions of one HTTP request are read: with a legend, in one pass."""
        return "together" if self.form.legend else "apart"

    def render(
        self,
        state: Text,
        questions: Sequence[Question],
        *,
        layout: Layout = "state-first",
        packing: Packing = "apart",
        limit: int,
        state_limit: int | None = None,
        keep: Keep | None = None,
    ) -> Rendered:
        """Rows for these questions about this state: ``plan`` and ``fill`` in one."""
        check_text(state, "state")
        planned = self.plan(questions, layout=layout, packing=packing)
        return self.fill(planned, state, limit=limit, state_limit=state_limit, keep=keep)

    def plan(
        self,
        questions: Sequence[Question],
        *,
        layout: Layout = "state-first",
        packing: Packing = "apart",
    ) -> PromptPlan:
        """The tokenised questions, for any number of states.

        Raises InvalidInputError for no questions and for an unknown layout or packing.
        """
        if not questions:
            raise InvalidInputError("questions", "none given; at least 1 is needed")
        if layout not in ("state-first", "schema-first"):
            raise InvalidInputError("layout", f"{layout!r} is neither state-first nor schema-first")
        if packing not in ("apart", "together"):
            raise InvalidInputError("packing", f"{packing!r} is neither apart nor together")
        asked = [
            self._asks(question) if len(question.declared) > 1 else () for question in questions
        ]
        flat = [ask for group in asked for ask in group]
        groups = [flat] if packing == "together" else [[ask] for ask in flat]
        if not flat:
            return PromptPlan(layout, (), (), tuple(AnswerPlace(()) for _ in questions))
        if layout == "schema-first":
            prefixes = tuple(self._schema_prefix(group) for group in groups)
            branches = tuple(self._answer_branch(group) for group in groups)
            slots = [(row, at) for row, one in enumerate(branches) for at in range(len(one.slots))]
        else:
            prefixes = (self._frame.head if self._frame else (),)
            branches = tuple(self._branch_after_state(tuple(group)) for group in groups)
            slots = [(0, at) for at in range(sum(len(one.slots) for one in branches))]
        left = iter(slots)
        places = tuple(AnswerPlace(tuple(next(left) for _ in group)) for group in asked)
        return PromptPlan(layout, prefixes, branches, places)

    def fill(
        self,
        plan: PromptPlan,
        state: Text,
        *,
        limit: int,
        state_limit: int | None = None,
        keep: Keep | None = None,
        state_tokens: Tokens | None = None,
    ) -> Rendered:
        """Rows for the planned questions about this state.

        ``limit`` is the most tokens on one path through a row, ``state_limit`` the most in the
        state; ``state_tokens`` is the result of ``encode_states``. Raises StateTooLongError when
        the state does not fit and ``keep`` is None, and InvalidInputError for an unusable state, or
        questions that leave no room.
        """
        check_text(state, "state")
        if keep not in (None, "head", "tail", "ends"):
            raise InvalidInputError("keep", f"{keep!r} is not one of head, tail, ends")
        if not plan.branches:
            return Rendered((), plan.places, None)
        given = _State(state_text(state, self.form), state_tokens)
        trunk, lead, cut = self._trunk(given, plan, limit, state_limit, keep)
        if plan.layout == "state-first":
            head = plan.prefixes[0]
            rows = [self._row((), (*head, *trunk), plan.branches, len(head) + lead)]
        else:
            pairs = zip(plan.prefixes, plan.branches, strict=True)
            rows = [self._row(prefix, trunk, (end,), lead) for prefix, end in pairs]
        return Rendered(tuple(rows), plan.places, cut)

    def _asks(self, question: Question) -> tuple[Ask, ...]:
        """The wording of a question, cached where equal questions are sure to read alike."""
        if _is_plain(question):
            return self._plain_asks(question)
        return tuple(asks(question, self.form))

    def _trunk(
        self,
        state: _State,
        plan: PromptPlan,
        limit: int,
        state_limit: int | None,
        keep: Keep | None,
    ) -> tuple[Tokens, int, Cut | None]:
        """The state behind its header, cut to the room that questions leave; where it begins."""
        text = "\n\nContext:\n" if plan.layout == "schema-first" else "Context:\n"
        header = self._encode(text)
        room = _room(limit - len(header) - plan.longest, state_limit, limit)
        if plan.layout == "state-first" and not self._splits_state:
            joined = tuple(self._encode_text(text + state.text))
            if len(joined) <= room + len(header):
                return joined, len(header), None
        kept, cut = self._fit(state, room, keep)
        return (*header, *kept), len(header), cut

    def _row(self, prefix: Tokens, trunk: Tokens, branches: tuple[Branch, ...], lead: int) -> Row:
        """A row whose state begins after ``lead`` tokens; an empty one is its last token there."""
        opened = len(trunk) if self.form.open_state else 0
        return Row(prefix, trunk, branches, opened, (min(lead, len(trunk) - 1), len(trunk)))

    @property
    def _splits_state(self) -> bool:
        return self.form.family == "thisthat"

    def _question_branch(self, group: Sequence[Ask]) -> Branch:
        """Questions after a state: each followed by its slot, or all slots after the chat tail."""
        if self._frame is not None:
            return self._chat_branch(group, self._frame)
        tokens: list[int] = []
        slots: list[Slot] = []
        for number, ask in _numbered(group):
            tokens += self._question_piece(f"\n\nQuestion{number}", ask, f"\nAnswer{number}: (")
            slots.append(Slot(len(tokens) - 1, len(ask.options)))
        return Branch(tuple(tokens), tuple(slots))

    def _question_piece(self, lead: str, ask: Ask, answer: str) -> Tokens:
        header = f"{lead}: {ask.text}\nOptions:"
        if self.form.family == "decider" and len(ask.options) <= _NARROW:
            return self._encode(header + self._narrow_options(ask) + answer)
        return (*self._encode(header), *self._options(ask), *self._encode(answer))

    def _chat_branch(self, group: Sequence[Ask], frame: ChatFrame) -> Branch:
        tokens: list[int] = []
        for number, ask in _numbered(group):
            tokens += self._encode(f"\n\nQuestion{number}: {ask.text}\nOptions:")
            tokens += self._options(ask)
        tokens += frame.tail
        return self._with_slots(tokens, group, first_lead="")

    def _schema_prefix(self, group: Sequence[Ask]) -> Tokens:
        tokens = list(self._frame.head if self._frame else ())
        for index, (number, ask) in enumerate(_numbered(group)):
            lead = "\n\n" if index else ""
            tokens += self._encode(f"{lead}Question{number}: {ask.text}\nOptions:")
            tokens += self._options(ask)
        return tuple(tokens)

    def _answer_branch(self, group: Sequence[Ask]) -> Branch:
        """The slots after a state whose questions came first."""
        if self._frame is not None:
            return self._with_slots(list(self._frame.tail), group, first_lead="")
        return self._with_slots([], group, first_lead="\n\n")

    def _with_slots(self, tokens: list[int], group: Sequence[Ask], first_lead: str) -> Branch:
        slots: list[Slot] = []
        for index, (number, ask) in enumerate(_numbered(group)):
            tokens += self._encode(f"{first_lead if index == 0 else chr(10)}Answer{number}: (")
            slots.append(Slot(len(tokens) - 1, len(ask.options)))
        return Branch(tuple(tokens), tuple(slots))

    def _options(self, ask: Ask) -> Tokens:
        if len(ask.options) <= _NARROW:
            return self._encode(self._narrow_options(ask))
        opening = self._encode("\n(")
        tokens: list[int] = []
        for label, option in zip(self.label_ids, ask.options, strict=False):
            tokens += (*opening, label, *self._encode(f") {option}"))
        return tuple(tokens)

    def _narrow_options(self, ask: Ask) -> str:
        pairs = zip(self._letters, ask.options, strict=False)
        return "".join(f"\n({letter}) {option}" for letter, option in pairs)

    def _fit(self, state: _State, room: int, keep: Keep | None) -> tuple[Tokens, Cut | None]:
        if keep is None and state.tokens is None:
            self._refuse_early(state.text, room)
        tokens = self.encode_state(state.text) if state.tokens is None else state.tokens
        if len(tokens) <= room:
            return tokens, None
        if keep is None:
            raise StateTooLongError(len(tokens), room)
        kept = self._cut(tokens, room, keep)
        return kept, Cut(keep, state_tokens=len(tokens), kept_tokens=room)

    def _refuse_early(self, text: str, room: int) -> None:
        """Raise StateTooLongError where a look at the text, or at its beginning, is enough."""
        least = -(-len(text) // _LONGEST_TOKEN)
        if least <= room and len(text) > _LONG_TEXT:
            # Twice the room: the end of the beginning may be read otherwise when more follows.
            least = max(least, len(self.encode_state(text[:_LONG_TEXT])) // 2)
        if least > room:
            raise StateTooLongError(least, room, counted=False)

    def _cut(self, tokens: Tokens, room: int, keep: Keep) -> Tokens:
        if keep == "head":
            return tokens[:room]
        if keep == "tail":
            return tokens[len(tokens) - room :]
        gap = self._encode(_GAP)
        left = max(room - len(gap), 0)
        front = (left + 1) // 2
        return (*tokens[:front], *gap[:room], *tokens[len(tokens) - (left - front) :])

    def encode_state(self, text: str) -> Tokens:
        """Token ids of a state; with cell tokens, one for every cell of a grid in it."""
        pieces = self._pieces(text)
        return self._joined(
            pieces, (self._encode_text(piece.text) for piece in pieces if not piece.cells)
        )

    def encode_states(self, states: Sequence[Text]) -> list[Tokens | None]:
        """Token ids of many states for ``fill``, in one call of the tokenizer.

        None for a state that ``fill`` has to read, or refuse, on its own.
        """
        if self._encode_many is None or not self._splits_state:
            return [None] * len(states)
        texts = [state_text(each, self.form) if _is_readable(each) else None for each in states]
        split = [
            None if text is None or len(text) > _LONG_TEXT else self._pieces(text) for text in texts
        ]
        plain = [piece.text for pieces in split for piece in pieces or () if not piece.cells]
        encoded = iter(self._encode_many(plain))
        return [None if pieces is None else self._joined(pieces, encoded) for pieces in split]

    def _pieces(self, text: str) -> list[Piece]:
        return split_grids(text) if self.form.cell_tokens else [Piece(text, cells=False)]

    def _joined(self, pieces: Sequence[Piece], encoded: Iterator[Sequence[int]]) -> Tokens:
        """A state's tokens from its pieces; pieces other than cells are the next ``encoded``."""
        if len(pieces) == 1 and not pieces[0].cells:
            return tuple(next(encoded))
        tokens: list[int] = []
        for piece in pieces:
            if piece.cells:
                for cell in piece.text:
                    tokens += self._encode(cell)
            else:
                tokens += next(encoded)
        return tuple(tokens)


def _is_plain(question: Question) -> bool:
    """Whether all its texts are strings: 1 and True are equal, but not the same JSON."""
    return (question.instructions is None or isinstance(question.instructions, str)) and all(
        option.description is None or isinstance(option.description, str)
        for option in question.declared
    )


def _is_readable(state: Text) -> bool:
    try:
        check_text(state, "state")
    except InvalidInputError:
        return False
    return True


def _room(free: int, state_limit: int | None, limit: int) -> int:
    if free < 1:
        raise InvalidInputError(
            "questions", f"leave no room for a state: they need {limit - free} of {limit} tokens"
        )
    return free if state_limit is None else min(free, state_limit)


def _numbered(group: Sequence[Ask]) -> Iterable[tuple[str, Ask]]:
    for index, ask in enumerate(group):
        yield (f" {index + 1}" if len(group) > 1 else ""), ask
