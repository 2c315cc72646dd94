"""The calls of a decider that say the same wherever the answers come from: here or on a server.

``Decider`` and ``RemoteDecider`` give ``decide_pairs``; everything else is built on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

from thisthat.decide.options import DecideKeywords
from thisthat.errors import InvalidInputError
from thisthat.questions import (
    Answer,
    Boolean,
    BooleanAnswer,
    Choice,
    ChoiceAnswer,
    Decision,
    Question,
    Score,
    ScoreAnswer,
    Text,
    check_many,
    check_text,
)
from thisthat.schema import Schema, TypedDecision, schema_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Questions: TypeAlias = Mapping[str, "Question | str"]
Progress: TypeAlias = Callable[[int, int], None]


class Asks(ABC):
    """One state or many, mappings or classes of questions, with and without an event loop."""

    @abstractmethod
    def decide_pairs(
        self,
        pairs: Sequence[tuple[Text, Questions]],
        *,
        progress: Progress | None = None,
        **options: Unpack[DecideKeywords],
    ) -> list[Decision]:
        """Like ``decide_many``, with each state's own questions."""

    @overload
    def ask(
        self, state: Text, question: str | Boolean, **options: Unpack[DecideKeywords]
    ) -> BooleanAnswer: ...
    @overload
    def ask(
        self, state: Text, question: Choice, **options: Unpack[DecideKeywords]
    ) -> ChoiceAnswer: ...
    @overload
    def ask(
        self, state: Text, question: Score, **options: Unpack[DecideKeywords]
    ) -> ScoreAnswer: ...
    def ask(
        self, state: Text, question: Question | str, **options: Unpack[DecideKeywords]
    ) -> Answer:
        """The answer to one question; a plain text is a boolean."""
        if "explain" in options:
            raise InvalidInputError("explain", "is for decide, whose decision carries evidence")
        return self.decide(state, {"question": question}, **options).answers["question"]

    @overload
    def decide(
        self, state: Text, questions: Questions, **options: Unpack[DecideKeywords]
    ) -> Decision: ...
    @overload
    def decide(
        self, state: Text, questions: type[T], **options: Unpack[DecideKeywords]
    ) -> TypedDecision[T]: ...
    def decide(
        self, state: Text, questions: Questions | type[T], **options: Unpack[DecideKeywords]
    ) -> Decision | TypedDecision[T]:
        """Answer all questions about one state in one pass.

        ``questions`` is a mapping of names to questions (a plain text is a boolean) or a class
        whose fields are the questions. ``options`` are the fields of ``DecideOptions``: layout,
        packing, keep, order, wide, explain, policy, request_id. Raises InvalidInputError.
        """
        return self.decide_many([state], questions, **options)[0]

    @overload
    def decide_many(
        self,
        states: Iterable[Text],
        questions: Questions,
        *,
        progress: Progress | None = None,
        **options: Unpack[DecideKeywords],
    ) -> list[Decision]: ...
    @overload
    def decide_many(
        self,
        states: Iterable[Text],
        questions: type[T],
        *,
        progress: Progress | None = None,
        **options: Unpack[DecideKeywords],
    ) -> list[TypedDecision[T]]: ...
    def decide_many(
        self,
        states: Iterable[Text],
        questions: Questions | type[T],
        *,
        progress: Progress | None = None,
        **options: Unpack[DecideKeywords],
    ) -> list[Decision] | list[TypedDecision[T]]:
        """Answer the same questions about many states, in the caller's order, batched by length.

        ``progress`` is called with (states done, total states) along the way; ``options`` as in
        ``decide``.
        """
        check_many(states)
        schema, asked = _asked(questions)
        pairs = [(state, asked) for state in states]
        decisions = self.decide_pairs(pairs, progress=progress, **options)
        return [schema.typed(decision) for decision in decisions] if schema else decisions

    @overload
    async def ask_async(
        self, state: Text, question: str | Boolean, **options: Unpack[DecideKeywords]
    ) -> BooleanAnswer: ...
    @overload
    async def ask_async(
        self, state: Text, question: Choice, **options: Unpack[DecideKeywords]
    ) -> ChoiceAnswer: ...
    @overload
    async def ask_async(
        self, state: Text, question: Score, **options: Unpack[DecideKeywords]
    ) -> ScoreAnswer: ...
    async def ask_async(
        self, state: Text, question: Question | str, **options: Unpack[DecideKeywords]
    ) -> Answer:
        """``ask`` without blocking the event loop."""
        return await self._aside(lambda: self.ask(state, question, **options))

    @overload
    async def decide_async(
        self, state: Text, questions: Questions, **options: Unpack[DecideKeywords]
    ) -> Decision: ...
    @overload
    async def decide_async(
        self, state: Text, questions: type[T], **options: Unpack[DecideKeywords]
    ) -> TypedDecision[T]: ...
    async def decide_async(
        self, state: Text, questions: Questions | type[T], **options: Unpack[DecideKeywords]
    ) -> Decision | TypedDecision[T]:
        """``decide`` without blocking the event loop."""
        return await self._aside(lambda: self.decide(state, questions, **options))

    @overload
    async def decide_many_async(
        self, states: Iterable[Text], questions: Questions, **options: Unpack[DecideKeywords]
    ) -> list[Decision]: ...
    @overload
    async def decide_many_async(
        self, states: Iterable[Text], questions: type[T], **options: Unpack[DecideKeywords]
    ) -> list[TypedDecision[T]]: ...
    async def decide_many_async(
        self,
        states: Iterable[Text],
        questions: Questions | type[T],
        **options: Unpack[DecideKeywords],
    ) -> list[Decision] | list[TypedDecision[T]]:
        """``decide_many`` without blocking the event loop."""
        return await self._aside(lambda: self.decide_many(states, questions, **options))

    async def _aside(self, call: Callable[[], T]) -> T:
        """A call's result, from a thread beside the event loop."""
        import asyncio  # Brings sockets and TLS, which few programs need.

        return await asyncio.to_thread(call)


def _asked(questions: Questions | type[T]) -> tuple[Schema[T] | None, dict[str, Question]]:
    if isinstance(questions, type):
        schema = schema_of(questions)
        return schema, schema.questions
    return None, declared(questions)


def declared(questions: Questions) -> dict[str, Question]:
    """The questions, plain texts made booleans. Raises InvalidInputError naming what is none."""
    if not isinstance(questions, Mapping):
        raise InvalidInputError(
            "questions", f"must be an object of named questions, not {type(questions).__name__}"
        )
    if not questions:
        raise InvalidInputError("questions", "none given; at least 1 is needed")
    found: dict[str, Question] = {}
    for name, question in questions.items():
        if not isinstance(name, str) or not name:
            raise InvalidInputError("questions", f"has the name {name!r}; names are non-empty text")
        check_text(name, "questions")
        if isinstance(question, str):
            try:
                question = Boolean(question)
            except InvalidInputError as error:
                raise error.under(f"questions.{name}") from None
        if not isinstance(question, (Choice, Boolean, Score)):
            raise InvalidInputError(
                f"questions.{name}",
                f"is a {type(question).__name__}, not a question; "
                "thisthat.questions_from_json reads questions from JSON",
            )
        found[name] = question
    return found
