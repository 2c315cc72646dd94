"""An evaluation as one HTML page: tables and SVG plots, no script, nothing fetched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from thisthat.items import metrics
from thisthat.items.item import render_state
from thisthat.teach.evaluate import Compared, Evaluation, Judged, shown

_STYLE = Path(__file__).with_suffix(".css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SIDE = 260
_EDGE = 42
_MOST_OPTIONS = 12
_MOST_CHARACTERS = 400

_Points = Sequence[tuple[float, float]]


def page(found: Evaluation, file: str) -> str:
    """The whole page; ``file`` is the name of the labels."""
    legend = f'<p><i class="now"></i>{escape(found.label)}</p>'
    if found.before is not None:
        legend += f'<p><i class="before"></i>before: {escape(found.before.label)}</p>'
    sections = "".join(_section(found, judged) for judged in found.judged.values())
    title = escape(f"Evaluation: {file}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n</head>\n"
        f"<body>\n<h1>{title}</h1>\n"
        f'<p class="muted">{len(found.labelled.states)} labelled states. Brackets are 95 % '
        f"intervals.</p>\n{legend}\n{sections}</body>\n</html>\n"
    )


def _section(found: Evaluation, judged: Judged) -> str:
    compared = found.compared.get(judged.name)
    verdict = ""
    if compared is not None:
        told = escape(f"{compared.verdict}: accuracy {shown(compared.gains['accuracy'])}")
        verdict = f'<p class="{compared.verdict.partition(" ")[0]}">{told}</p>\n'
    plots = [_reliability(judged, compared), _curve(judged, compared)]
    return (
        f"<section>\n<h2>{escape(judged.name)}</h2>\n"
        f'<p class="muted">{len(judged.rows)} labels, {judged.question.kind}</p>\n{verdict}'
        f"{_measures(judged, compared)}<div class='plots'>{''.join(plots)}</div>\n"
        f"<h3>Confusion</h3>\n{_confusion(judged)}"
        f"<h3>Most sure and wrong</h3>\n{_wrong(found, judged)}</section>\n"
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
    return _table(heads, rows)


def _confusion(judged: Judged) -> str:
    counts, options = judged.confusion, judged.options
    if len(options) > _MOST_OPTIONS:
        pairs = [
            (int(counts[right, said]), options[right], options[said])
            for right, said in zip(*counts.nonzero(), strict=True)
            if right != said
        ]
        pairs.sort(key=lambda pair: -pair[0])
        rows = [[right, said, str(count)] for count, right, said in pairs[:_MOST_OPTIONS]]
        return _table(["labelled", "answered", "times"], rows, "texts")
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
            *judged.said(row),
            f"{judged.confidences[row]:.3f}",
            _cut(render_state(found.labelled.states[judged.rows[row]])),
        ]
        for row in judged.surest_wrong()
    ]
    if not rows:
        return "<p>No answer is wrong.</p>\n"
    return _table(["row", "labelled", "answered", "probability", "state"], rows, "texts")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "numbers") -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows
    )
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>\n{lines}'
        "</tbody></table></div>\n"
    )


# Plots -------------------------------------------------------------------------------------------


def _reliability(judged: Judged, compared: Compared | None) -> str:
    drawn = ""
    for name, each in _series(judged, compared):
        points = [(part.confidence, part.accuracy) for part in each.reliability]
        most = max(part.count for part in each.reliability)
        sizes = [2 + 6 * math.sqrt(part.count / most) for part in each.reliability]
        drawn += _line(name, points, sizes)
    return _plot(
        drawn,
        "probability of the answer",
        "share right",
        "Reliability: on the dashed line, probabilities are what they say. Larger dots have more "
        "rows.",
    )


def _curve(judged: Judged, compared: Compared | None) -> str:
    drawn = "".join(
        _line(name, metrics.roc_curve(*each.yes))
        for name, each in _series(judged, compared)
        if each.yes is not None
    )
    if not drawn:
        return ""
    caption = "How many are found at which price, over all thresholds."
    return _plot(drawn, "share of no taken for yes", "share of yes found", caption)


def _series(judged: Judged, compared: Compared | None) -> list[tuple[str, Judged]]:
    before = [] if compared is None else [("before", compared.before)]
    return [*before, ("now", judged)]


def _line(name: str, points: _Points, sizes: Sequence[float] = ()) -> str:
    at = [(_EDGE + _SIDE * x, _EDGE / 2 + _SIDE * (1 - y)) for x, y in points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
        for (x, y), size in zip(at, sizes, strict=False)
    )
    return f'<g class="{name}"><polyline points="{joined}"/>{dots}</g>'


def _plot(drawn: str, across: str, up: str, caption: str) -> str:
    left, top, right, low = _EDGE, _EDGE / 2, _EDGE + _SIDE, _EDGE / 2 + _SIDE
    ticks = "".join(
        f'<text x="{left + _SIDE * tick:.0f}" y="{low + 14}" text-anchor="middle">{tick:g}</text>'
        f'<text x="{left - 5}" y="{low - _SIDE * tick + 4:.0f}" text-anchor="end">{tick:g}</text>'
        for tick in (0, 0.5, 1)
    )
    middle = left + _SIDE / 2
    return (
        f'<figure><svg viewBox="0 0 {right + top:.0f} {low + _EDGE:.0f}" role="img" '
        f'aria-label="{escape(up)} over {escape(across)}">'
        f'<rect class="axis" x="{left}" y="{top}" width="{_SIDE}" height="{_SIDE}"/>'
        f'<line class="even" x1="{left}" y1="{low}" x2="{right}" y2="{top}"/>{ticks}'
        f'<text x="{middle}" y="{low + 29}" text-anchor="middle">{escape(across)}</text>'
        f'<text transform="translate(10 {top + _SIDE / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(up)}</text>{drawn}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )
