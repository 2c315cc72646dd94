"""The branch suite: generated decisions as programs meet them, and multi-step arithmetic."""

from __future__ import annotations

from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.registry import REGISTRY

# Balance by rounds may leave a family a few short of what is asked for: of 66 sixty are left.
PER_FAMILY, QUICK_PER_FAMILY = 126, 66
ARITHMETIC = "arithmetic"
CAVEATS = REGISTRY["branch"].caveats


def branch_items(context: Context) -> list[Item]:
    """The branch families' evaluation items, arithmetic after them."""
    from thisthat_lab.suites import arithmetic, branch

    count = QUICK_PER_FAMILY if context.setting.quick else PER_FAMILY
    seed = context.setting.seed

    def made() -> list[Item]:
        items = [*branch.evaluation_items(count, seed), *arithmetic.evaluation_items(count, seed)]
        return context.quick(items)

    return context.once("branch items", made)


def run(context: Context) -> Findings:
    """Ask all families; arithmetic has a line of its own and is not in the headline."""
    items = branch_items(context)
    replies = context.ask("branch", items)
    pairs = list(zip(items, replies, strict=True))
    is_arithmetic = [item.source.endswith(ARITHMETIC) for item in items]
    branch_pairs = [pair for pair, sums in zip(pairs, is_arithmetic, strict=True) if not sums]
    sums = [pair for pair, sums in zip(pairs, is_arithmetic, strict=True) if sums]
    asked, said = [list(side) for side in zip(*branch_pairs, strict=True)]
    lines = scoring.score_lines(asked, said, "branch")
    for held_out, label in ((True, "families held out of training"), (False, "trained families")):
        part = [pair for pair in branch_pairs if _held_out(pair[0]) == held_out]
        if part:
            lines.append(
                scoring.accuracy_line([i for i, _ in part], [r for _, r in part], None, label)
            )
    if sums:
        lines.append(
            scoring.accuracy_line(
                [i for i, _ in sums], [r for _, r in sums], "branch.arithmetic", "arithmetic"
            )
        )
    lines += scoring.usage_lines(replies)
    groups = scoring.grouped(items, replies, "family", lambda item: item.family)
    groups += scoring.grouped(asked, said, "kind", lambda item: item.kind)
    groups += scoring.grouped(
        asked, said, "clauses", lambda item: scoring.facts_of(item, "clauses"), order=int
    )
    groups += scoring.grouped(
        [i for i, _ in sums],
        [r for _, r in sums],
        "arithmetic steps",
        lambda item: scoring.facts_of(item, "steps"),
        order=int,
    )
    return Findings(
        lines,
        items,
        replies,
        groups,
        scoring.calibration_series(asked, said),
        scoring.rows_of(items, replies),
        CAVEATS,
    )


def _held_out(item: Item) -> bool:
    return item.split == "heldout_task"
