"""Labelling and teaching in a real browser, with the real teaching process on a small model."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.serve.http.test_teach import OPENING, ROWS, STATES, service_on
from tests.serve.http.test_teach import parent as parent
from tests.serve.page.live import live_service
from tests.serve.page.test_playground import ANSWERED, card
from tests.serve.page.test_views import loaded, view
from thisthat.items.labels import read_labelled
from thisthat.questions import Boolean, Choice
from thisthat.serve.teaching.teacher import Teacher

LONG = 120_000  # a process starts, opens a model and fits


@pytest.fixture(scope="module")
def teaching(parent: Path) -> Iterator[str]:
    with live_service(service_on(parent, Teacher(OPENING))) as address:
        yield address


def opened(browser: Browser, address: str) -> Page:
    """The page with two questions about colours."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.wait_for_selector(ANSWERED)
    page.get_by_label("Text", exact=True).check()
    page.fill("#state", "red pale door")
    card(page, 2).get_by_label("Remove this question").click()
    for number, name, text in ((0, "red", "Is it red?"), (1, "shade", "Which shade?")):
        card(page, number).get_by_label("Name", exact=True).fill(name)
        card(page, number).get_by_label("Question", exact=True).fill(text)
    card(page, 0).get_by_label("What yes means").fill("")
    card(page, 0).get_by_label("What no means").fill("")
    card(page, 1).get_by_label("Remove option 3").click()
    for number, option in ((1, "dark"), (2, "light")):
        card(page, 1).get_by_label(f"Name of option {number}").fill(option)
        card(page, 1).get_by_label(f"Description of option {number}").fill("")
    page.wait_for_selector(ANSWERED)
    return page


@pytest.fixture(scope="module")
def colours(browser: Browser, teaching: str) -> Iterator[Page]:
    """The page with two questions about colours, and no rows."""
    page = opened(browser, teaching)
    yield page
    page.close()


def add(shown: Locator, text: str) -> None:
    shown.get_by_label("Rows", exact=True).fill(text)
    shown.get_by_role("button", name="Add these").click()


def labels(rows: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def test_labels_become_a_taught_layer_to_compare_and_download(
    browser: Browser, teaching: str, tmp_path: Path
) -> None:
    page = opened(browser, teaching)
    shown = view(page, "Teach")
    add(shown, labels(ROWS))
    expect(shown.get_by_role("table").locator("tbody tr")).to_have_count(2)
    shown.get_by_role("button", name="Teach", exact=True).click()
    result = shown.locator(".results")
    expect(result).to_contain_text("is loaded beside the served checkpoint", timeout=LONG)
    expect(result.locator("tbody tr")).to_have_count(2)
    expect(result.locator("tbody tr").first).to_contain_text("gain shown")
    with page.expect_download() as caught:
        result.get_by_role("button", name="Download taught").click()
    caught.value.save_as(tmp_path / "taught.zip")
    with zipfile.ZipFile(tmp_path / "taught.zip") as file:
        assert {Path(name).name for name in file.namelist()} == {
            "decision.json",
            "heads.safetensors",
        }
    result.get_by_role("button", name="Compare it").click()
    compared = loaded(page, "Compare")
    expect(compared.get_by_label("Checkpoint B").locator(":checked")).to_contain_text("taught-")
    first = compared.locator("section").first
    expect(first.locator("tbody tr").first.locator(".share").nth(1)).to_have_text("> 99 %")
    page.get_by_role("tab", name="Teach").click()
    result.get_by_role("button", name="Try other λ").click()
    dial = loaded(page, "λ").get_by_label("λ", exact=True)
    dial.press("Home")
    expect(dial).to_have_attribute("aria-valuetext", "λ 0")
    dial.press("ArrowRight")
    expect(dial).to_have_attribute("aria-valuetext", "λ 0.25")
    page.close()


def test_states_are_chosen_labelled_by_keys_and_downloaded(
    browser: Browser, teaching: str, tmp_path: Path
) -> None:
    page = opened(browser, teaching)
    shown = view(page, "Teach")
    add(shown, "\n".join(STATES[:25]))
    shown.get_by_role("button", name="Choose 20 to label next").click()
    expect(shown.locator(".labeller")).to_contain_text("Current answer:", timeout=LONG)
    expect(shown.locator(".labeller h3")).to_be_focused()
    shade = shown.get_by_role("group", name="shade Which shade?")
    page.keyboard.press("1")
    expect(shown.get_by_role("group", name="red Is it red?").get_by_label("yes")).to_be_checked()
    page.keyboard.press("1")
    expect(shade.get_by_label("dark")).to_be_checked()
    shade.get_by_label("dark").focus()
    page.keyboard.press("2")
    expect(shade.get_by_label("light")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(shown.get_by_role("button", name="Next unlabelled")).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown.locator(".labeller h3")).to_have_text("Row 2 of 25")
    page.reload()
    page.wait_for_selector(ANSWERED)
    page.get_by_role("tab", name="Teach").click()
    with page.expect_download() as caught:
        shown.get_by_role("button", name="Download labels.jsonl").click()
    caught.value.save_as(tmp_path / "labels.jsonl")
    asked = {"red": Boolean("Is it red?"), "shade": Choice(["dark", "light"], "Which shade?")}
    rows = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert len(rows) == 25
    assert rows[0]["answers"] == {"red": True, "shade": "light"}
    (tmp_path / "one.jsonl").write_text(json.dumps(rows[0]))
    assert read_labelled(tmp_path / "one.jsonl", asked).labels == [{"red": 1, "shade": 1}]
    page.close()


def test_a_wrong_label_is_found_and_looked_at(browser: Browser, teaching: str) -> None:
    page = opened(browser, teaching)
    shown = view(page, "Teach")
    search = shown.get_by_role("button", name="Find wrong labels")
    add(shown, labels(ROWS[:5]))
    expect(search).to_be_disabled()
    red = "red" in STATES[7]
    wrong = {"state": STATES[7], "answers": {"red": not red}}
    add(shown, labels([*ROWS[5:7], wrong, *ROWS[8:]]))
    search.click()
    result = shown.locator(".results")
    expect(result).to_contain_text("may be wrong. Look again", timeout=LONG)
    line = result.locator("tbody tr").filter(has_text="Row 8")
    expect(line).to_contain_text("red" + ("noyes" if red else "yesno"))
    line.get_by_role("button", name="Row 8").click()
    expect(shown.locator(".labeller h3")).to_have_text("Row 8 of 60")
    expect(shown.locator(".labeller h3")).to_be_focused()
    page.close()


def test_refusals_are_told(browser: Browser, teaching: str) -> None:
    page = opened(browser, teaching)
    shown = view(page, "Teach")
    add(shown, '{"state": ')
    expect(shown.get_by_role("alert")).to_contain_text("Line 1: is not JSON")
    add(shown, "state,red\na,yes\n ,no\n")
    expect(shown.get_by_role("alert")).to_contain_text("Row 2 of the table: has a blank state")
    add(shown, labels(ROWS[:5]))
    expect(shown.get_by_role("table")).to_contain_text("5 of at least 20")
    shown.get_by_role("button", name="Teach", exact=True).click()
    expect(shown.get_by_role("alert")).to_contain_text("at least 20 are needed", timeout=LONG)
    shown.get_by_role("button", name="Remove all rows").click()
    expect(shown.locator(".labeller")).to_be_hidden()
    page.close()


def test_tables_and_difficult_states_are_read(browser: Browser, teaching: str) -> None:
    page = opened(browser, teaching)
    shown = view(page, "Teach")
    add(shown, 'id,state,red,shade\n7,"a ""red"", deep\ncar",TRUE,dark\n8,green,,light\n')
    expect(shown.locator(".labeller pre")).to_have_text('a "red", deep\ncar')
    add(shown, '{"answers": {"red": false}, "state": {"n": 12345678901234567890, "1": "}"}}')
    with page.expect_download() as caught:
        shown.get_by_role("button", name="Download labels.jsonl").click()
    lines = Path(caught.value.path()).read_text().splitlines()
    assert json.loads(lines[0]) == {
        "id": "7",
        "state": 'a "red", deep\ncar',
        "answers": {"red": True, "shade": "dark"},
    }
    assert json.loads(lines[1])["answers"] == {"shade": "light"}
    assert json.loads(lines[2])["state"] == {"n": 12345678901234567890, "1": "}"}
    page.close()


WRONG = [
    ('{"state": "a", "answers": {"red": 1}}', "Line 1, answers.red: 1 is not an option; write yes"),
    (
        '{"state": "a", "answers": {"shade": "Dark"}}',
        "“Dark” is not an option; it differs from “dark” only in case or blanks",
    ),
    ('{"state": "a", "answers": {"shade": "dim"}}', "known are dark, light"),
    ('{"state": "a", "answers": {"hue": "x"}}', "hue: is not a question; known are red, shade"),
    ('{"answers": {"shade": "dark"}}', "Line 1: has no state"),
    ('{"state": 3}', "Line 1, state: must be a text, an object or a list, not 3"),
    ('{"state": "a", "answers": ["dark"]}', "Line 1, answers: must be an object of labels"),
    ('{"state": "a", "answers": {}, "by": "me"}', "Line 1, by: is not known; a row has answers"),
    ('{"id": 1, "state": "a"}\n{"id": 1, "state": "b"}', "Line 2, id: “1” is another row's"),
    ("text,shade\na door,dark", "no column “state”; its columns are text, shade"),
    ("state,hue\na door,dark", "The column “hue” is not a question"),
    ("state;shade\na door;dark", "must be separated by commas"),
    ("state,shade\na door,sale", "Row 1 of the table, answers.shade: “sale” is not an option"),
    ("state,shade\na door", "Row 1 of the table: has 1 cells, not 2"),
    ("state,shade\na,dark\n ,light\n", "Row 2 of the table: has a blank state"),
]


@pytest.mark.parametrize(("pasted", "told"), WRONG)
def test_wrong_rows_are_told_and_nothing_is_added(colours: Page, pasted: str, told: str) -> None:
    shown = view(colours, "Teach")
    add(shown, pasted)
    expect(shown.get_by_role("alert")).to_contain_text("Nothing is added.")
    expect(shown.get_by_role("alert")).to_contain_text(told)
    expect(shown.get_by_label("Rows", exact=True)).to_have_value(pasted)
    expect(shown.locator(".labeller")).to_be_hidden()


def test_every_wrong_row_is_told_beside_right_ones(colours: Page) -> None:
    shown = view(colours, "Teach")
    wrong = [{"state": "a door", "answers": {"shade": "dim"}}] * 12
    add(shown, labels([ROWS[0], *wrong]))
    told = shown.get_by_role("alert").inner_text().splitlines()
    assert told[0] == "Nothing is added."
    assert [line.split(",")[0] for line in told[1:11]] == [f"Line {n}" for n in range(2, 12)]
    assert told[11:] == ["And 2 more."]


def test_a_state_that_is_an_object_may_call_a_field_state(colours: Page) -> None:
    shown = view(colours, "Teach")
    add(
        shown, '{"state": "CA", "city": "Fresno"}\n{"state": ["a", "b"]}\nWell, it is red, I think.'
    )
    expect(shown.locator(".labeller h3")).to_have_text("Row 1 of 3")
    expect(shown.locator(".labeller pre")).to_contain_text('"city": "Fresno"')
    shown.get_by_role("button", name="Remove all rows").click()


def test_what_is_replaced_or_removed_comes_back(colours: Page) -> None:
    page = colours
    shown = view(page, "Teach")
    add(shown, labels(ROWS[:3]))
    shown.get_by_role("button", name="Use a sample").click()
    undo = shown.get_by_role("status").filter(has_text="Undo")
    expect(undo).to_contain_text("The sample has replaced your state, your questions and 3 rows.")
    expect(shown.locator(".labeller h3")).to_have_text("Row 1 of 48")
    undo.get_by_role("button", name="Undo").click()
    expect(page.locator("#state")).to_have_value("red pale door")
    expect(card(page, 1).get_by_label("Name", exact=True)).to_have_value("shade")
    expect(shown.locator(".labeller h3")).to_have_text("Row 1 of 3")
    expect(undo).to_be_hidden()
    shown.get_by_role("button", name="Remove all rows").click()
    expect(undo).to_contain_text("3 rows are removed.")
    expect(undo.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown.locator(".labeller h3")).to_have_text("Row 1 of 3")
    shown.get_by_role("button", name="Remove all rows").click()
    add(shown, labels(ROWS[:1]))
    expect(undo).to_be_hidden()
    shown.get_by_role("button", name="Remove all rows").click()


def test_a_teach_can_be_stopped(browser: Browser, parent: Path) -> None:
    script = "print('{\"checked\": {}}', flush=True); import time; time.sleep(600)"
    teacher = Teacher(OPENING, (sys.executable, "-c", script))
    with live_service(service_on(parent, teacher)) as address:
        page = opened(browser, address)
        shown = view(page, "Teach")
        add(shown, labels(ROWS))
        shown.get_by_role("button", name="Teach", exact=True).click()
        expect(shown.get_by_role("progressbar")).to_be_visible()
        shown.get_by_role("button", name="Stop").click()
        expect(shown.get_by_role("alert")).to_have_text("Stopped.")
        expect(shown.get_by_role("button", name="Teach", exact=True)).to_be_enabled()
        page.close()


def test_an_admin_key_is_asked_for_and_a_server_may_refuse(
    browser: Browser, parent: Path, address: str
) -> None:
    service = service_on(parent, Teacher(OPENING), teach=False, admin_keys=("adm",))
    with live_service(service) as guarded:
        page = opened(browser, guarded)
        shown = view(page, "Teach")
        add(shown, labels(ROWS[:2]))
        shown.get_by_label("Admin key").fill("wrong")
        shown.get_by_role("button", name="Teach", exact=True).click()
        expect(shown.get_by_role("alert")).to_contain_text("send a known key")
        shown.get_by_label("Admin key").fill("adm")
        shown.get_by_role("button", name="Teach", exact=True).click()
        expect(shown.get_by_role("alert")).to_contain_text("at least 20", timeout=LONG)
        page.goto(address)
        page.wait_for_selector(ANSWERED)
        page.get_by_role("tab", name="Teach").click()
        expect(page.get_by_role("tabpanel")).to_contain_text("This server does not teach")
        expect(page.get_by_role("button", name="Teach", exact=True)).to_be_disabled()
        page.close()
