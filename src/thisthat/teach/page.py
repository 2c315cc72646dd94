"""An evaluation as one HTML page: tables and SVG plots, no script, nothing fetched."""

from __future__ import annotations

import math
from html import escape

from thisthat.display import option_told
from thisthat.items import metrics
from thisthat.items.item import render_state
from thisthat.teach.evaluate import Compared, Evaluation, Judged, shown
from thisthat.teach.figures import document, line, plot, table

_MOST_OPTIONS = 12
_MOST_CHARACTERS = 400


def page(found: Evaluation, file: str) -> str:
    """The whole page; ``file`` is the name of the labels."""
    legend = f'<p><i class="now"></i>{escape(found.label)}</p>'
    if found.before is not None:
        legend += f'<p><i class="before"></i>before: {escape(found.before.label)}</p>'
    sections = "".join(_section(found, judged) for judged in found.judged.values())
    return document(
        f"Evaluation: {file}",
        f'<p class="muted">{len(found.labelled.states)} labelled states. Brackets are 95 % '
        f"intervals.</p>\n{legend}\n{sections}",
    )


def _section(found: Evaluation, judged: Judged) -> str:
    compared = found.compared.get(judged.name)
    verdict = ""
    if compared is not None:
        told = escape(f"{compared.told()}; accuracy {shown(compared.gains['accuracy'])}")
        verdict = f'<p class="{compared.verdict.partition(" ")[0]}">{told}</p>\n'
    found_told = found.found_told(judged.name)
    found_by_option = "" if found_told is None else f"<p>{escape(found_told)}</p>\n"
    plots = [_reliability(judged, compared), _curve(judged, compared)]
    return (
        f"<section>\n<h2>{escape(judged.name)}</h2>\n"
        f'<p class="muted">{len(judged.rows)} labels, {judged.question.kind}</p>\n{verdict}'
        f"{_measures(judged, compared)}{found_by_option}<div class='plots'>{''.join(plots)}</div>\n"
        f"<h3>Confusion</h3>\n{_confusion(judged)}"
        f"<h3>Wrong, surest first</h3>\n{_wrong(found, judged)}</section>\n"
    )


def _measures(judged: Judged, compared: Compared | None) -> str:
    rows = [[name, shown(each)] for name, each in judged.measures.items()]
    rows.append(["calibration error", f"{judged.calibration_error:.3f}"])
    heads = ["", "now"]
    if compared is not None:
        before = [shown(each) for each in compared.before.measures.values()]
        gains = [shown(each) for each in compared.gains.values()]
        before.append(f"{compared.before.calibration_error:.3f}")
        more = judged.calibration_error - compared.before.calibration_error
        gains.append(f"{more:+.3f}")
        rows = [[*row, *pair] for row, *pair in zip(rows, before, gains, strict=True)]
        heads += ["before", "difference"]
    return table(heads, rows)


def _confusion(judged: Judged) -> str:
    counts = judged.confusion
    options = [option_told(judged.question, option) for option in judged.options]
    if len(options) > _MOST_OPTIONS:
        pairs = [
            (int(counts[right, said]), options[right], options[said])
            for right, said in zip(*counts.nonzero(), strict=True)
            if right != said
        ]
        pairs.sort(key=lambda pair: -pair[0])
        rows = [[right, said, str(count)] for count, right, said in pairs[:_MOST_OPTIONS]]
        return table(["labelled", "answered", "times"], rows, "texts")
    heads = "".join(f"<th>{escape(option)}</th>" for option in options)
    lines = ""
    for right, option in enumerate(options):
        total = max(1, int(counts[right].sum()))
        cells = "".join(
            f'<td style="--share: {70 * count / total:.0f}%">{count}</td>'
            for count in counts[right]
        )
        lines += f"<tr><th>{escape(option)}</th>{cells}</tr>\n"
    return (
        '<div class="scroll"><table class="confusion"><thead><tr><th>labelled \\ answered</th>'
        f"{heads}</tr></thead><tbody>\n{lines}</tbody></table></div>\n"
    )


def _wrong(found: Evaluation, judged: Judged) -> str:
    rows = [
        [
            found.place(judged, row),
            *judged.told(row),
            f"{judged.confidences[row]:.3f}",
            _cut(render_state(found.labelled.states[judged.rows[row]])),
        ]
        for row in judged.surest_wrong()
    ]
    if not rows:
        return "<p>No answer is wrong.</p>\n"
    return table(["row", "labelled", "answered", "probability", "state"], rows, "texts")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


# Plots -------------------------------------------------------------------------------------------


def _reliability(judged: Judged, compared: Compared | None) -> str:
    drawn = ""
    for name, each in _series(judged, compared):
        points = [(part.confidence, part.accuracy) for part in each.reliability]
        most = max(part.count for part in each.reliability)
        sizes = [2 + 6 * math.sqrt(part.count / most) for part in each.reliability]
        drawn += line(name, points, sizes)
    return plot(
        drawn,
        "probability of the answer",
        "share right",
        "Reliability: on the dashed line, probabilities are what they say. Larger dots have more "
        "rows.",
    )


def _curve(judged: Judged, compared: Compared | None) -> str:
    drawn = "".join(
        line(name, metrics.roc_curve(*each.yes))
        for name, each in _series(judged, compared)
        if each.yes is not None
    )
    if not drawn:
        return ""
    caption = "How many are found at which price, over all thresholds."
    return plot(drawn, "share of no taken for yes", "share of yes found", caption)


def _series(judged: Judged, compared: Compared | None) -> list[tuple[str, Judged]]:
    before = [] if compared is None else [("before", compared.before)]
    return [*before, ("now", judged)]
