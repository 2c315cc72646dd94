"""Does offering "none of these" give it away? Right offers beside wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

from thisthat.decide.decider import Decider
from thisthat.errors import StateTooLongError
from thisthat.items.files import read_items
from thisthat.items.item import KINDS, Item
from thisthat.questions import Question, Text
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.measurements.questions.branch import branch_items
from thisthat_lab.bench.measurements.questions.decisions import dev_file
from thisthat_lab.bench.result import Line
from thisthat_lab.train.data.abstain import measure_leakage

PER_KIND, QUICK_PER_KIND = 400, 60


def run(context: Context) -> Findings:
    """Rows of the development file, or branch questions without one; each kind apart."""
    path = dev_file(context.setting.data)
    everything = branch_items(context) if path is None else list(read_items(path))
    most = QUICK_PER_KIND if context.setting.quick else PER_KIND
    decider = context.engine.decider

    def distributions(pairs: Sequence[tuple[Text, Question]]) -> list[list[float]]:
        found = decider.decide_pairs([(state, {"q": question}) for state, question in pairs])
        return [list(decision["q"].probabilities.values()) for decision in found]

    lines: list[Line] = []
    asked: list[Item] = []
    for kind in KINDS:
        mine = [item for item in everything if item.kind == kind]
        spread = scoring.spread_over_families(mine, most)
        items = [item for item in spread if _fits(decider, item)]
        if not items:
            continue
        found = measure_leakage(items, distributions, context.seed)
        asked += items
        lines += [
            Line(
                f"{kind}: AUC without the state, 0.5 when the offer tells nothing", found.blank_auc
            ),
            Line(f"{kind}: AUC with the state", found.auc),
            Line(f"{kind}: abstained exactly when right", found.accuracy),
            Line(f"{kind}: mean probability of abstaining (right in half)", found.mean),
            Line(f"{kind}: shift among the other options by a wrong offer", found.shift),
        ]
    return Findings(lines, asked)


def _fits(decider: Decider, item: Item) -> bool:
    try:
        decider.prepare(item.state, {"q": item.as_question()})
    except StateTooLongError:
        return False
    return True
