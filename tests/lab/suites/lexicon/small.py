"""A dictionary of a dozen senses in WordNet's file format."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

NOUN = """  a line of the licence
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | that which exists
00000002 05 n 01 animal 0 003 @ 00000001 n 0000 ~ 00000004 n 0000 ~ 00000005 n 0000 | a living being that moves
00000003 06 n 01 tool 0 003 @ 00000001 n 0000 ~ 00000006 n 0000 ~ 00000007 n 0000 | a thing made to work with
00000004 05 n 02 dog 0 hound 0 002 @ 00000002 n 0000 %p 00000008 n 0000 | a domestic animal that barks; "the dog slept by the fire"
00000005 05 n 01 cat 0 001 @ 00000002 n 0000 | a domestic animal that purrs
00000006 06 n 01 hammer 0 001 @ 00000003 n 0000 | a tool for driving nails; "he dropped the hammer"
00000007 06 n 01 saw 0 001 @ 00000003 n 0000 | a tool with teeth for cutting
00000008 08 n 01 tail 0 001 @ 00000001 n 0000 | the hindmost part of an animal
00000009 05 n 01 crane 0 001 @ 00000002 n 0000 | a large wading bird; "a crane stood in the reeds"
00000010 06 n 01 crane 1 001 @ 00000003 n 0000 | a machine that lifts heavy loads; "the crane lifted the beam"
"""
ADJECTIVE = """00000001 00 a 01 hot 0 001 ! 00000002 a 0101 | of high temperature; "a hot stove"
00000002 00 a 02 cold 0 chilly(p) 0 001 ! 00000001 a 0101 | of low temperature
"""
VERB = """00000001 38 v 01 run 0 000 01 + 02 00 | move fast on foot; "they run every day"
00000002 38 v 01 creep 0 000 01 + 02 00 | move slowly
"""


def written_to(folder: Path) -> Path:
    """The folder with the database's files in it."""
    files = {"noun": NOUN, "adj": ADJECTIVE, "verb": VERB, "adv": ""}
    for name, text in files.items():
        (folder / f"data.{name}").write_text(text, encoding="utf-8")
    words = [
        "cat",
        "cold",
        "crane",
        "creep",
        "dog",
        "hammer",
        "hot",
        "run",
        "saw",
        "tail",
        "tool",
        "animal",
    ]
    counts = "".join(f"{word}%1:05:00:: 1 9\n" for word in words)
    (folder / "cntlist.rev").write_text(counts, encoding="utf-8")
    return folder
