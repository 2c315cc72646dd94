"""`thisthat info --check`: twenty plain questions, to see whether a model is read right.

Answers near guessing mean that the prompt, the template or the weights are not what the model was
trained with, or that it cannot decide zero-shot. Nothing is measured: `thisthat bench` does that.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from thisthat.items.item import Item

FILE = Path(__file__).with_suffix(".json")


def plain_items() -> list[Item]:
    """The twenty questions, each with its answer."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return [Item.from_dict(row, f"{FILE.name}, row {n}") for n, row in enumerate(rows, start=1)]


def check_reading(ref: str, lam: float | None, as_json: bool) -> None:
    """Ask them and print the first prompt, every answer, and how many guessing would get."""
    from thisthat.decide.opening import open_decider

    items = plain_items()
    with open_decider(ref, lam=lam) as decider:
        pairs = [(item.state, {"q": item.as_question()}) for item in items]
        prompts = decider.prompt_text(*pairs[0])
        decisions = decider.decide_pairs(pairs)
    rows: list[dict[str, Any]] = []
    for item, decision in zip(items, decisions, strict=True):
        given = list(decision.answers["q"].probabilities.values())
        best = given.index(max(given))
        names = [text or name for name, text in item.options]
        rows.append(
            {
                "question": f"{item.state} {item.question}",
                "answer": names[best],
                "probability": given[best],
                "right": best == item.answer,
                "wanted": names[item.answer],
            }
        )
    right, guessing = sum(row["right"] for row in rows), sum(1 / len(i.options) for i in items)
    if as_json:
        found = {"prompt": prompts[0], "right": right, "guessing": guessing, "answers": rows}
        print(json.dumps(found, ensure_ascii=False, indent=2))
        return
    print(f"What the model reads first:\n\n{prompts[0]}\n")
    for row in rows:
        mark = "right" if row["right"] else f"WRONG, wanted {row['wanted']}"
        print(f"{row['probability']:.2f} {row['answer']:<12} {mark}: {row['question']}")
    print(f"\n{right} of {len(rows)} right; guessing gets {guessing:.1f}.")
