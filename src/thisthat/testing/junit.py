"""A run as JUnit XML, for continuous integration."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from thisthat.testing.run import Run

# Characters that XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(run: Run, suite: str, seconds: float) -> bytes:
    """The XML of one run; ``suite`` names the file of cases."""
    root = ElementTree.Element("testsuites")
    counts = {"tests": str(len(run.outcomes)), "failures": str(len(run.failed)), "errors": "0"}
    node = ElementTree.SubElement(
        root, "testsuite", {"name": _clean(suite), **counts, "time": f"{seconds:.3f}"}
    )
    properties = ElementTree.SubElement(node, "properties")
    answered_by = {"name": "answered by", "value": _clean(run.label)}
    ElementTree.SubElement(properties, "property", answered_by)
    for outcome in run.outcomes:
        names = {"classname": _clean(outcome.case), "name": _clean(outcome.question)}
        case = ElementTree.SubElement(node, "testcase", {**names, "time": "0"})
        if not outcome.passed:
            ElementTree.SubElement(case, "failure", {"message": _clean(outcome.reason)})
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
