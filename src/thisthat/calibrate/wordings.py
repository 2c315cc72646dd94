"""One question in other words: negated, as thresholds, paraphrased, with options rotated.

Callers can supply their own wordings; those made here are plain frames around the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thisthat.decide.option_order import orders_of, reordered
from thisthat.errors import InvalidInputError
from thisthat.questions import Boolean, Choice, Question, Score, Text, compact_json

PLAIN = "plain"
MOST_THRESHOLDS = 8
_PARAPHRASES = ("Going by the text above: {text}", "{text} Decide from what is stated.")


@dataclass(frozen=True, slots=True)
class Wordings:
    """A caller's own rewordings of one question; each replaces the generated ones.

    ``negation`` asks for the opposite of a boolean; ``paraphrases`` ask the same; ``thresholds``
    are yes-or-no questions, the easiest to meet first.
    """

    negation: str | None = None
    paraphrases: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()


def wordings_from_json(value: object) -> dict[str, Wordings]:
    """Wordings by question name, as a file holds them. Raises InvalidInputError."""
    if not isinstance(value, Mapping):
        raise InvalidInputError("wordings", "must be an object of question names")
    found: dict[str, Wordings] = {}
    for name, entry in value.items():
        where = f"wordings.{name}"
        if not isinstance(entry, Mapping):
            raise InvalidInputError(where, f"must be an object, not {type(entry).__name__}")
        unknown = sorted(set(entry) - {"negation", "paraphrases", "thresholds"})
        if unknown:
            raise InvalidInputError(
                f"{where}.{unknown[0]}", "is not known; there are negation, paraphrases, thresholds"
            )
        negation = entry.get("negation")
        if negation is not None and not isinstance(negation, str):
            raise InvalidInputError(f"{where}.negation", "must be a text")
        lists = {
            key: _texts(entry.get(key, []), f"{where}.{key}")
            for key in ("paraphrases", "thresholds")
        }
        found[name] = Wordings(negation, **lists)
    return found


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidInputError(where, "must be a list of texts")
    return tuple(value)


def check_wordings(questions: Mapping[str, Question], wordings: Mapping[str, Wordings]) -> None:
    """Raise InvalidInputError for wordings that do not fit their questions."""
    for name, wording in wordings.items():
        if name not in questions:
            raise InvalidInputError(
                f"wordings.{name}", f"is not a question of the schema: {', '.join(questions)}"
            )
        if wording.negation is not None and not isinstance(questions[name], Boolean):
            raise InvalidInputError(
                f"wordings.{name}.negation", f"is for a boolean, not a {questions[name].kind}"
            )
        if len(wording.thresholds) == 1:
            raise InvalidInputError(f"wordings.{name}.thresholds", "1 given; at least 2 are needed")


def variants_of(question: Question, wording: Wordings) -> Iterator[tuple[str, Question]]:
    """The question as given and in every rewording, by check and number."""
    yield f"{PLAIN}/0", question
    text = as_text(question.instructions)
    if isinstance(question, Boolean) and (wording.negation or text):
        opposite = wording.negation or f'Is "no" the right answer to this question? {text}'
        # What made the original true makes its negation false.
        yield "negation/0", Boolean(opposite, true=question.false, false=question.true)
    thresholds = wording.thresholds or tuple(_level_thresholds(question, text))
    for number, threshold in enumerate(thresholds):
        yield f"thresholds/{number}", Boolean(threshold)
    generated = [form.format(text=text) for form in _PARAPHRASES] if text else []
    for number, paraphrase in enumerate(wording.paraphrases or generated):
        yield f"paraphrases/{number}", _reworded(question, paraphrase)
    orders = orders_of(question, "average")
    for number, places in enumerate(orders if len(orders) > 1 else ()):
        yield f"order/{number}", reordered(question, places)


def _level_thresholds(question: Question, text: str) -> Iterator[str]:
    if not isinstance(question, Score) or len(question.levels) < 3:
        return
    levels = [as_text(level) for level in question.levels]
    count = min(len(levels) - 1, MOST_THRESHOLDS)
    for number in range(count):
        level = levels[1 + number * (len(levels) - 1) // count]
        yield f'{text} On the scale {" < ".join(levels)}: is it at least "{level}"?'.strip()


def _reworded(question: Question, text: str) -> Question:
    if isinstance(question, Choice):
        return Choice(question.options, text, question.abstain)
    if isinstance(question, Boolean):
        return Boolean(text, question.true, question.false, question.abstain)
    return Score(question.levels, text, question.abstain)


def as_text(value: Text | None) -> str:
    """Instructions, a level or a state as one text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact_json(value)
