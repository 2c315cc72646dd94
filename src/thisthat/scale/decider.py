"""``BatchDecider``: columns of states in, columns of answers out.

Small to pickle: it holds what was declared, and opens the checkpoint where it is first called.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from thisthat.decide.conditions import Conditions
from thisthat.decide.options import CHOICES, DecideOptions
from thisthat.decide.policy import Policy
from thisthat.decide.protocol import Decides
from thisthat.errors import DeviceMemoryError, InvalidInputError
from thisthat.questions import (
    Boolean,
    Choice,
    Decision,
    Question,
    Score,
    Text,
    check_many,
    check_text,
)
from thisthat.questions_json import questions_from_json, read_questions
from thisthat.scale.columns import (
    Found,
    answer_columns,
    answer_kinds,
    read_columns,
    same_table,
)
from thisthat.schema import schema_of

T = TypeVar("T")


class BatchDecider:
    """Answers one schema's questions about columns of states, in any worker of any system.

    ``schema`` is a class, named questions, or a JSON file of them; ``policy`` a Policy or its file.
    ``state`` names the column that holds the state, or several that make one JSON object; ``id``
    one that is handed through. ``checkpoint``, ``lam``, ``engine`` and ``threads`` are those of
    ``thisthat.open``; with ``server`` its answers are asked for instead. ``options`` are layout,
    packing, keep, order and wide of ``DecideOptions``. Raises InvalidInputError.
    """

    def __init__(
        self,
        schema: type | str | Path | Mapping[str, Question | str | Mapping[str, Any]],
        checkpoint: str | Path = "default",
        *,
        policy: Policy | str | Path | None = None,
        id: str | None = None,
        state: str | Sequence[str] = "state",
        lam: float | None = None,
        engine: str = "auto",
        server: str | None = None,
        key: str | None = None,
        timeout: float = 60.0,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        self.questions = _questions(schema)
        self.policy = Policy.load(policy) if isinstance(policy, (str, Path)) else policy
        for name in options:
            if name not in CHOICES:
                raise InvalidInputError(name, f"is not for batches; they take {', '.join(CHOICES)}")
        DecideOptions(policy=self.policy, **options)
        if server is not None and engine != "auto":
            raise InvalidInputError("engine", "is for a checkpoint; a server has its own")
        self.options = options
        self.id = id
        self.state = (state,) if isinstance(state, str) else tuple(state)
        if not self.state:
            raise InvalidInputError("state", "names no column; at least 1 is needed")
        cut = options.get("keep") is not None
        self.kinds = answer_kinds(self.questions, policy=self.policy is not None, cut=cut)
        if id in self.kinds:
            raise InvalidInputError("id", f"{id!r} is the name of a column of answers")
        self._where = (checkpoint, lam, engine, server, key, timeout)
        self.threads = threads
        self._opened: Decides | None = None
        self._opening = threading.Lock()

    def __repr__(self) -> str:
        checkpoint, server = self._where[0], self._where[3]
        where = str(checkpoint) if server is None else f"{checkpoint} at {server}"
        return f"<BatchDecider {', '.join(self.questions)} of {', '.join(self.state)} by {where}>"

    def __call__(self, columns: T) -> T:
        """The answers to a table's states, in its order, as a table of the same sort.

        Takes a mapping of lists or arrays, an Arrow table or batch, a pandas or a Polars frame. A
        state that cannot be answered has an ``error`` instead of answers. Raises InvalidInputError
        for columns that are not there.
        """
        names = [*self.state, *([] if self.id is None else [self.id])]
        given = read_columns(columns, list(dict.fromkeys(names)))
        states = [self._state(given, n) for n in range(len(given[self.state[0]]))]
        found = answer_columns(self.kinds, self.decide(states))
        if self.id is not None:
            found = {self.id: given[self.id], **found}
        return cast(T, same_table(columns, found, self.kinds, self.id))

    def decide(self, states: Sequence[Text | InvalidInputError]) -> list[Found]:
        """A decision for every state, or what is wrong with it; what already is passes through."""
        check_many(states)
        asked = [state for state in states if not isinstance(state, InvalidInputError)]
        found = iter(self._answers(asked))
        return [state if isinstance(state, InvalidInputError) else next(found) for state in states]

    @property
    def opened(self) -> Decides:
        """What answers, opened if it is not."""
        return self._decider()

    @property
    def conditions(self) -> Conditions:
        """The conditions that the answers depend on; opens what answers."""
        return self._decider().conditions(**self.options)

    def close(self) -> None:
        """Free what was opened; a later call opens it again."""
        opened, self._opened = self._opened, None
        if opened is not None and hasattr(opened, "close"):
            opened.close()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_opened", "_opening")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _opened=None, _opening=threading.Lock())

    def _state(self, columns: Mapping[str, list[Any]], number: int) -> Text | InvalidInputError:
        values: Any = {name: columns[name][number] for name in self.state}
        state = values if len(self.state) > 1 else values[self.state[0]]
        try:
            check_text(state, f"row {number + 1}, {', '.join(self.state)}")
        except InvalidInputError as error:
            return error
        return cast(Text, state)

    def _answers(self, states: Sequence[Text]) -> list[Found]:
        decider = self._decider()
        try:
            found = list(decider.decide_each(states, self.questions, **self.options))
        except DeviceMemoryError:
            found = [self._alone(decider, state) for state in states]
        if self.policy is None:
            return found
        conditions = self.conditions
        return [
            self.policy.apply(each, self.questions, conditions)
            if isinstance(each, Decision)
            else each
            for each in found
        ]

    def _alone(self, decider: Decides, state: Text) -> Found:
        try:
            return decider.decide_each([state], self.questions, **self.options)[0]
        except DeviceMemoryError as error:
            return InvalidInputError("state", str(error))

    def _decider(self) -> Decides:
        with self._opening:
            if self._opened is None:
                opened = self._open()
                # Refuses questions that cannot be asked; a server says what it answers with.
                opened.decide_many(["."], self.questions, **self.options)
                if self.policy is not None:
                    self.policy.check(self.questions, opened.conditions(**self.options))
                self._opened = opened
        return self._opened

    def _open(self) -> Decides:
        checkpoint, lam, engine, server, key, timeout = self._where
        if server is None:
            from thisthat.decide import opening

            how: Any = {"lam": lam, "engine": engine, "threads": self.threads}
            return opening.open_decider(checkpoint, **how)
        from thisthat.remote.decider import RemoteDecider
        from thisthat.remote.server import RemoteServer

        return RemoteDecider(RemoteServer(server, key, timeout), str(checkpoint), lam)


def _questions(
    schema: type | str | Path | Mapping[str, Question | str | Mapping[str, Any]],
) -> dict[str, Question]:
    if isinstance(schema, type):
        return schema_of(schema).questions
    if isinstance(schema, (str, Path)):
        return read_questions(Path(schema))
    given: Any = schema
    if not isinstance(given, Mapping):
        return questions_from_json(given)
    ready = {n: each for n, each in given.items() if isinstance(each, (Boolean, Choice, Score))}
    rest = {name: each for name, each in given.items() if name not in ready}
    read = questions_from_json(rest) if rest or not ready else {}
    return {name: ready.get(name) or read[name] for name in given}
