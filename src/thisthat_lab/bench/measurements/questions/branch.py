"""The branch suite: generated decisions as programs meet them, and multi-step arithmetic."""

from __future__ import annotations

from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings

# Balance by rounds may leave a family a few short of what is asked for: of 66 sixty are left.
PER_FAMILY, QUICK_PER_FAMILY = 126, 66
ARITHMETIC = "arithmetic"


def branch_items(context: Context) -> list[Item]:
    """The branch families' evaluation items, arithmetic after them."""
    count = QUICK_PER_FAMILY if context.setting.quick else PER_FAMILY
    return context.once("branch items", lambda: context.quick(drawn_items(count, context.seed)))


def drawn_items(per_family: int, seed: int) -> list[Item]:
    """Evaluation items drawn with a seed, arithmetic after the branch families."""
    from thisthat_lab.suites import arithmetic, branch

    return [
        *branch.evaluation_items(per_family, seed),
        *arithmetic.evaluation_items(per_family, seed),
    ]


def run(context: Context) -> Findings:
    """Ask all families; arithmetic has a line of its own and is not in the headline."""
    items = branch_items(context)
    replies = context.ask("branch", items)
    sums = scoring.part(items, replies, lambda item: item.source.endswith(ARITHMETIC))
    asked, said = scoring.part(items, replies, lambda item: not item.source.endswith(ARITHMETIC))
    held_out = scoring.part(asked, said, lambda item: item.split == "heldout_task")
    trained = scoring.part(asked, said, lambda item: item.split != "heldout_task")
    lines = scoring.score_lines(asked, said, "branch")
    for part, anchor, label in (
        (held_out, None, "families held out of training"),
        (trained, None, "trained families"),
        (sums, "branch.arithmetic", "arithmetic"),
    ):
        if part[0]:
            lines.append(scoring.accuracy_line(*part, anchor, label))
    lines += scoring.usage_lines(replies)
    groups = scoring.grouped(items, replies, "family", lambda item: item.family)
    groups += scoring.grouped(asked, said, "kind", lambda item: item.kind)
    groups += scoring.grouped(asked, said, "clauses", "clauses", order=int)
    groups += scoring.grouped(*sums, "arithmetic steps", "steps", order=int)
    return scoring.findings(lines, items, replies, groups, (asked, said))
