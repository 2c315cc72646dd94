"""Runs commands for real and draws them as a terminal session, an animated SVG.

    python scripts/make_animation.py docs/pictures/session.svg [path of the thisthat command]

The first command stands there with its answer from the start. Whoever asks for less motion, or
whose viewer knows no animation, sees the finished session at once.
"""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples" / "mailbox"
SESSION = [
    'thisthat ask "Please refund the kettle." --schema questions.json',
    'thisthat ask "The kettle was due last week and has not arrived." --schema questions.json',
    "thisthat teach labels.csv --schema questions.json -o mine",
]
# Of what they print: neither the time, which is this machine's, nor the advice after teaching.
LEFT_OUT = ("tokens in", "Its answer before", "With half")
COLUMNS, LINE, LEFT, TOP, SIZE = 92, 20, 20, 52, 14
TYPING, READING, END = 0.015, 1.5, 9.0


def lines_of(command: str, folder: Path, thisthat: str) -> list[str]:
    """What the command really prints, broken where a terminal would."""
    words = command.replace("thisthat ", f"{thisthat} ", 1)
    done = subprocess.run(words, shell=True, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr}")
    said = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    kept = [line for line in said if not any(word in line for word in LEFT_OUT)]
    return [part for line in kept for part in _broken(line)]


def _broken(line: str) -> list[str]:
    return textwrap.wrap(line, COLUMNS, subsequent_indent="  ") if len(line) > COLUMNS else [line]


def drawn(session: list[tuple[str, list[str]]]) -> str:
    """The session as one SVG; each line appears at its time and stays."""
    rows: list[tuple[float, str, str]] = []
    clock = 0.0
    for number, (command, said) in enumerate(session):
        rows.append((clock, "c", f"$ {command}"))
        clock += TYPING * len(command) if number else 0
        for line in said:
            rows.append((clock, "o", line))
            clock += 0.12 if number else 0
        clock += READING
    whole = clock + END
    height = TOP + LINE * len(rows) + 16
    width = LEFT * 2 + round(COLUMNS * SIZE * 0.602)
    frames = []
    texts = []
    for number, (start, kind, line) in enumerate(rows):
        style = ""
        if start:
            at = 100 * start / whole
            shows = f"{{0%,{at:.2f}%{{opacity:0}}{at + 0.4:.2f}%,100%{{opacity:1}}}}"
            frames.append(f"@keyframes k{number}{shows}")
            style = f' style="animation:k{number} {whole:.1f}s infinite"'
        shown = html.escape(line).replace(" ", "\u00a0")
        y = TOP + LINE * number + SIZE
        texts.append(f'<text class="{kind}" x="{LEFT}" y="{y}"{style}>{shown}</text>')
    told = html.escape("A terminal session: " + "; ".join(command for command, _ in session), True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
            f' aria-label="{told}">',
            "<style>text{font:14px ui-monospace,'SF Mono',Menlo,Consolas,monospace;"
            "white-space:pre}.c{fill:#fff;font-weight:600}.o{fill:#b8c4d6}",
            *frames,
            "@media (prefers-reduced-motion:reduce){text{animation:none!important}}</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#10151f"/>',
            *(
                f'<circle cx="{24 + 18 * place}" cy="22" r="5.5" fill="{fill}"/>'
                for place, fill in enumerate(("#ef6a5e", "#f5bf4f", "#61c554"))
            ),
            *texts,
            "</svg>",
            "",
        ]
    )


def main(target: Path, thisthat: str) -> None:
    """Run the session in a folder of its own and write the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in EXAMPLES.iterdir():
            if file.is_file():
                (folder / file.name).write_bytes(file.read_bytes())
        session = [(command, lines_of(command, folder, thisthat)) for command in SESSION]
    target.write_text(drawn(session), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "thisthat")
