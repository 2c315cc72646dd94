"""How questions, answers and decisions look at a prompt (one line) and in a notebook (a table).

Everything that came from outside is escaped. Bars take the colour of the text, so that they are
seen on light and dark pages alike, and every bar's number stands beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

# ``questions`` builds on this file, so its classes cannot be named here.
Question: TypeAlias = Any
Answer: TypeAlias = Any
Decision: TypeAlias = Any
Source: TypeAlias = Any

MOST_OPTIONS = 3
"""Options of an answer that a line shows."""
MOST_ROWS = 20
"""Options of an answer that a table shows."""

_CELL = "padding:.15em .7em .15em 0;text-align:left;vertical-align:top"


def question_line(question: Question) -> str:
    """A question as the code that declares it."""
    given: list[str] = []
    if question.kind == "choice":
        given.append(_options_code(question.options))
    elif question.kind == "score":
        given.append(repr(list(question.levels)))
    if question.instructions is not None:
        given.append(repr(question.instructions))
    if question.kind == "boolean":
        meanings = {"true": question.true, "false": question.false}
        given += [f"{name}={text!r}" for name, text in meanings.items() if text is not None]
    if question.abstain is not None:
        plain = question.abstain.description is None
        abstain = question.abstain.name if plain else question.abstain
        given.append(f"abstain={abstain!r}")
    return f"{type(question).__name__}({', '.join(given)})"


def _options_code(options: Sequence[Any]) -> str:
    if any(option.description is not None for option in options):
        return repr({option.name: option.description for option in options})
    return repr([option.name for option in options])


def answer_line(answer: Answer) -> str:
    """An answer's most probable options, and what a policy makes of it."""
    return f"<{type(answer).__name__} {_told(answer)}>"


def decision_line(decision: Decision) -> str:
    """What was answered, in short, and by what."""
    answers = ", ".join(
        f"{name}: {_best(answer)}{_outcome(answer)}" for name, answer in decision.answers.items()
    )
    cut = "" if decision.cut is None else ", the state was cut"
    return f"<{type(decision).__name__} {answers} ({_by(decision)}{cut})>"


def source_line(source: Source) -> str:
    """Which weights answered."""
    return f"{source.name} {source.version}, λ = {source.lam:g}"


def fields_line(value: object) -> str:
    """An instance of a caller's class with its fields, where its own text would be an address."""
    if type(value).__repr__ is not object.__repr__:
        return repr(value)
    fields = ", ".join(f"{name}={each!r}" for name, each in vars(value).items())
    return f"{type(value).__name__}({fields})"


def answer_html(answer: Answer) -> str:
    """An answer as a table of its options."""
    return table(("option", "probability", ""), _option_rows(answer)) + _outcome_html(answer)


def decision_html(decision: Decision) -> str:
    """A decision as a table of its questions and their options."""
    rows = [
        (bold(name) if number == 0 else "", *row)
        for name, answer in decision.answers.items()
        for number, row in enumerate(_option_rows(answer))
    ]
    outcomes = "".join(
        _outcome_html(answer, f"{name}: ") for name, answer in decision.answers.items()
    )
    cut = "" if decision.cut is None else ", the state was cut"
    return (
        table(("question", "option", "probability", ""), rows)
        + outcomes
        + note(f"{_by(decision)}{cut}")
    )


def table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; heads are texts, cells are markup."""
    top = "".join(f'<th scope="col" style="{_CELL}">{escape(head)}</th>' for head in heads)
    cells = ("".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) for row in rows)
    lines = "".join(f"<tr>{row}</tr>" for row in cells)
    return (
        '<table style="border-collapse:collapse;color:inherit;background:none">'
        f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
    )


def bar(share: float, strong: bool = True) -> str:
    """A bar for a share from 0 to 1."""
    width = 6 * min(max(share, 0.0), 1.0)
    opacity = ".75" if strong else ".3"
    return (
        '<span aria-hidden="true" style="display:inline-block;height:.7em;'
        f'width:{width:.2f}em;background:currentColor;opacity:{opacity}"></span>'
    )


def bold(text: object) -> str:
    """A text, escaped, in bold."""
    return f"<b>{escape(str(text))}</b>"


def note(text: str) -> str:
    """A small line under a table."""
    return f'<div style="opacity:.75;font-size:.9em">{escape(text)}</div>'


def _by(decision: Decision) -> str:
    tokens, spent = decision.usage.input_tokens, decision.seconds * 1000
    return f"{source_line(decision.source)}, {tokens} tokens, {spent:.0f} ms"


def _ranked(answer: Answer) -> list[tuple[str, float]]:
    return sorted(answer.probabilities.items(), key=lambda each: -each[1])


def _told(answer: Answer) -> str:
    """Yes for a boolean, the mean for a score, and else the most probable options."""
    ranked = _ranked(answer)
    if answer.kind == "boolean":
        shown = [("yes", answer.probabilities["yes"])]
        shown += [each for each in ranked if each[0] == answer.abstain]
        more = ""
    else:
        shown, left = ranked[:MOST_OPTIONS], len(ranked) - MOST_OPTIONS
        more = f", {left} more" if left > 0 else ""
    told = ", ".join(f"{label(answer, name)} {p:.3f}" for name, p in shown)
    mean = f"; mean {answer.expected:.2f}" if hasattr(answer, "expected") else ""
    return f"{told}{more}{mean}{_outcome(answer)}"


def _best(answer: Answer) -> str:
    name, p = _ranked(answer)[0]
    if answer.kind == "boolean" and name != answer.abstain:
        name, p = "yes", answer.probabilities["yes"]
    return f"{label(answer, name)} {p:.3f}"


def label(answer: Answer, option: str) -> str:
    """An option for people to read: a score's levels with their texts."""
    legend: Sequence[Any] = getattr(answer, "legend", ())
    if option == answer.abstain or not legend:
        return option
    return level_told(option, legend[int(option)])


def counted(number: int, noun: str, described: str = "") -> str:
    """A number of things: ``1 row``, ``2 different rows``."""
    plural = noun if number == 1 else f"{noun}s"
    return " ".join(filter(None, (str(number), described, plural)))


def beginning(text: str, most: int) -> str:
    """``text``, or its beginning with a mark that it goes on, in at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(parts: Sequence[str]) -> str:
    """What follows a colon: one part behind it, several on lines of their own."""
    return f" {parts[0]}" if len(parts) == 1 else "".join(f"\n  {part}" for part in parts)


def option_told(question: Question, option: str) -> str:
    """The same, of a question's option."""
    if question.kind != "score" or (question.abstain and option == question.abstain.name):
        return option
    return level_told(option, question.levels[int(option)])


def level_told(number: str, text: Any) -> str:
    """A score's level: its number with its text."""
    return f"{number}: {text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}"


def set_promise(coverage: float) -> str:
    """What holds of prediction sets: of all of them together, not of each by itself."""
    return f"on average over states, {100 * coverage:g}% of such sets or more hold the right option"


def _outcome(answer: Answer) -> str:
    outcome = answer.outcome
    if outcome is None:
        return ""
    if outcome.option is None or outcome.option == answer.best_name:
        return f" → {outcome.action}"
    return f" → {outcome.action} on {label(answer, outcome.option)}"


def _outcome_html(answer: Answer, name: str = "") -> str:
    outcome = answer.outcome
    if outcome is None:
        return ""
    forced = f" (forced: {'; '.join(outcome.forced)})" if outcome.forced else ""
    return note(f"{name}{outcome.action}, because {outcome.reason}{forced}")


def _option_rows(answer: Answer) -> list[tuple[str, str, str]]:
    shown: Mapping[str, float] = answer.probabilities
    left = len(shown) - MOST_ROWS
    if left > 0:
        shown = dict(_ranked(answer)[:MOST_ROWS])
    rows = [_option_row(answer, name, p) for name, p in shown.items()]
    if left > 0:
        rest = 1 - sum(shown.values())
        rows.append((f"{left} more", f"{max(rest, 0.0):.3f}", ""))
    return rows


def _option_row(answer: Answer, name: str, p: float) -> tuple[str, str, str]:
    best, text = name == answer.best_name, label(answer, name)
    said = bold(text) if best else escape(text)
    return said, (bold(f"{p:.3f}") if best else f"{p:.3f}"), bar(p, best)
