"""Labels the issue of a GitHub event by its title and text; an unsure one gets no label.

A runner sets GITHUB_EVENT_PATH, GITHUB_REPOSITORY and GITHUB_API_URL, the action GITHUB_TOKEN. The
workflow that runs it in any repository, with the owner of thisthat's repository and a tag of it:

    on: {issues: {types: [opened]}}
    permissions: {issues: write}
    jobs:
      label:
        runs-on: ubuntu-latest
        steps:
          - uses: OWNER/thisthat/examples/label_issues@TAG

Try it here; above SURE it would write to the repository, so this one only prints:

    echo '{"issue": {"number": 7, "title": "Crash when saving", "body": "It hangs."}}' > event.json
    GITHUB_EVENT_PATH=event.json SURE=0.999 python examples/label_issues/label.py
"""

import json
import os
import sys
import urllib.request
from pathlib import Path

import thisthat
from thisthat import Choice

LABELS = Choice(
    {
        "bug": "something is broken or gives an error",
        "feature": "a wish for something new",
        "question": "somebody asks how to do something",
        "documentation": "a mistake in the guide or the docs",
    },
    "What kind of issue is it?",
)


def choose(title: str, body: str | None, decider: thisthat.Decider, sure: float) -> str | None:
    """The label, or none if the best one is not sure enough."""
    text = f"{title}\n\n{body or ''}".strip()
    answer = decider.decide(text, {"kind": LABELS}, keep="head")["kind"]
    best = max(answer.probabilities.values())
    print(f"{answer.best} at {best:.2f}: {title}")
    return answer.best if best >= sure else None


def add_label(api: str, repository: str, number: int, label: str, token: str) -> None:
    """One request to the REST API."""
    request = urllib.request.Request(
        f"{api}/repos/{repository}/issues/{number}/labels",
        data=json.dumps({"labels": [label]}).encode(),
        headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        print("labelled:", answer.status)


def main() -> None:
    """The event's issue; nothing to do for other events."""
    if "GITHUB_EVENT_PATH" not in os.environ:
        sys.exit("GITHUB_EVENT_PATH names no event; this is a step of a GitHub Action")
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    issue = event.get("issue")
    if issue is None:
        return
    label = choose(
        issue["title"], issue["body"], thisthat.open(), float(os.environ.get("SURE", "0.6"))
    )
    if label is not None:
        api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
        repository, token = os.environ["GITHUB_REPOSITORY"], os.environ["GITHUB_TOKEN"]
        add_label(api, repository, issue["number"], label, token)


if __name__ == "__main__":
    main()
