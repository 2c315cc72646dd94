"""The views beside the questions in a real browser: each shows what the library answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser import OVERFLOW, complaints
from tests.path_engine import path_decider
from tests.serve.page.live import live_server, opened
from tests.serve.page.test_playground import ANSWERED, asked_by, card
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.decide.target import parse_target
from thisthat.items.labels import LabelledStates
from thisthat.questions import Decision
from thisthat.questions_json import questions_from_json


def view(page: Page, tab: str) -> Locator:
    """A view once it is open and shows what it loaded."""
    page.get_by_role("tab", name=tab, exact=True).click()
    found = page.get_by_role("tabpanel", name=tab, exact=True)
    expect(found).to_be_visible()
    return found


def loaded(page: Page, tab: str) -> Locator:
    found = view(page, tab)
    expect(found.locator(".results[aria-busy=false] > *").first).to_be_visible()
    return found


def percent(value: float) -> str:
    """As the page writes a share."""
    rounded = int(value * 100 + 0.5)
    return "< 1 %" if rounded == 0 else "> 99 %" if rounded == 100 else f"{rounded} %"


def asked(page: Page) -> dict[str, Any]:
    return asked_by(page, page.get_by_role("button", name="A refund").click)


def decide(body: dict[str, Any], lam: float | None = None, **how: Any) -> Decision:
    return opened("default", lam).decide(
        body["state"], questions_from_json(body["questions"]), **how
    )


def test_evidence_ranks_the_parts_of_the_library(page: Page) -> None:
    body = asked(page)
    expected = decide(body, explain=True)
    shown = loaded(page, "Evidence")
    assert expected.evidence is not None
    for number, (name, parts) in enumerate(expected.evidence.items()):
        section = shown.locator("section").nth(number)
        expect(section.locator("h3 code")).to_have_text(name)
        first = section.locator("li").first
        expect(first.locator(".part")).to_have_text(parts[0].text)
        expect(first.locator(".share")).to_have_text(f"moves {percent(parts[0].moved)}")
    extra = expected.usage.extra_tokens
    expect(shown).to_contain_text(f"{extra} more to explain them")


def test_a_view_says_that_it_asks_until_the_first_answer(page: Page) -> None:
    held: list[Route] = []
    page.route("**/v1/decide", lambda route: held.append(route))
    with page.expect_request("**/v1/decide"):
        shown = view(page, "Evidence")
    expect(shown.locator(".results")).to_have_text("Asking the server …")
    held[0].continue_()
    expect(shown.locator("section").first).to_be_visible()
    expect(shown).not_to_contain_text("Asking the server")


def test_a_view_follows_the_form(page: Page) -> None:
    shown = loaded(page, "Evidence")
    page.get_by_label("Text", exact=True).check()
    page.fill("#state", "One thing. Another thing.")
    expect(shown.locator("section").first.locator(".part")).to_have_count(2)
    card(page, 0).get_by_label("Name", exact=True).fill("")
    expect(shown).to_contain_text("Fix the marked fields first.")


def test_without_a_question_the_page_says_so_everywhere(page: Page) -> None:
    shown = loaded(page, "Evidence")
    for _ in range(3):
        card(page, 0).get_by_label("Remove this question").click()
    missing = "Add a question to get an answer."
    expect(page.locator("#questions-problem")).to_have_text(missing)
    expect(page.locator("#meter")).to_be_empty()
    expect(shown.locator(".results")).to_have_text(missing)
    page.get_by_role("tab", name="Code").click()
    expect(page.locator("#code")).to_have_text(missing)


def test_evidence_calls_levels_as_the_card_does(page: Page) -> None:
    body = asked(page)
    shown = loaded(page, "Evidence").locator("section").nth(2)
    levels = body["questions"]["age"]["criteria"]
    best = decide(body)["age"].best
    assert isinstance(best, int)
    expect(shown.locator("h3")).to_have_text(f"age {best}: {levels[best]}")
    turns = shown.locator(".badge.differs").all_inner_texts()
    names = [f"without it: {number}: {level}" for number, level in enumerate(levels)]
    assert set(turns) <= set(names)


def test_order_shows_every_rotation_and_the_average(page: Page) -> None:
    body = asked(page)
    shown = loaded(page, "Order")
    average = decide(body, order="average")["wants"].probabilities
    criteria = list(body["questions"]["wants"]["criteria"].items())
    table = shown.get_by_role("table")
    expect(table.locator("thead th")).to_have_text(
        ["option", *(name for name, _ in criteria), "average"]
    )
    for place in range(3):
        turned = dict(criteria[place:] + criteria[:place])
        question = {**body["questions"]["wants"], "criteria": turned}
        answer = decide({"state": body["state"], "questions": {"wants": question}})["wants"]
        for row, (name, _) in enumerate(criteria):
            cell = table.locator("tbody tr").nth(row).locator("td").nth(place)
            expect(cell).to_have_text(percent(answer.probabilities[name]))
    for row, (name, _) in enumerate(criteria):
        last = table.locator("tbody tr").nth(row).locator("td").last
        expect(last).to_have_text(percent(average[name]))


def test_a_share_below_one_percent_is_written_as_such(page: Page) -> None:
    found = page.evaluate("""async () => {
      const { signed } = await import("/page/views/compare.js");
      const { moved } = await import("/page/views/order.js");
      return [...[0, 0.001, -0.004, 0.02, -0.3].map(signed), moved(0.001), moved(0.2)];
    }""")
    assert found == [
        "0 %", "< 1 %", "< 1 %", "+2 %", "−30 %",
        "Every probability moves by less than 1 %.", "No probability moves by more than 20 %.",
    ]  # fmt: skip


def test_order_says_when_there_is_nothing_to_turn(page: Page) -> None:
    card(page, 1).get_by_label("Remove this question").click()
    expect(loaded(page, "Order")).to_contain_text("There is no choice among the questions")


def test_a_policy_says_what_it_would_do(page: Page, refusals: list[tuple[str, int]]) -> None:
    body = asked(page)
    questions = questions_from_json(body["questions"])
    decider = path_decider()
    states = [f"state {number}" for number in range(120)]
    labels = [
        {"wants": list(decision["wants"].probabilities).index(decision["wants"].best_name)}
        for decision in decider.decide_many(states, questions)
    ]
    policy = fit_policy(
        decider,
        LabelledStates({"wants": questions["wants"]}, states, labels),
        parse_target("error<=0.05"),
    )
    shown = view(page, "Policy")
    expect(shown).to_contain_text("No policy yet")
    shown.get_by_label("Or paste its content").fill("{")
    expect(shown).to_contain_text("Not valid JSON")
    shown.get_by_label("Or paste its content").fill(json.dumps(policy.as_json()))
    alone = {**body, "questions": {"wants": body["questions"]["wants"]}}
    expected = decide(alone, policy=policy)["wants"].outcome
    assert expected is not None
    wants = shown.locator("section").nth(1)
    words = {"act": "act", "escalate": "ask a person", "abstain": "do nothing"}
    expect(wants.locator(".badge")).to_have_text(words[expected.action])
    expect(wants).to_contain_text(expected.reason)
    assert expected.options is not None
    among = ", ".join(expected.options)
    expect(wants).to_contain_text(f"Prediction set: {among}. On average over states, 95 %")
    expect(shown.locator("section").first.locator(".badge")).to_have_text("not in the policy")
    refusals.append(("/v1/decide", 422))
    card(page, 1).get_by_label("Description of option 1").fill("other words")
    expect(shown.locator(".results")).to_contain_text("the schema differs")
    expect(shown.locator(".results")).to_contain_text("without its guarantee: tick the box above")
    shown.get_by_label("Apply it to other questions").check()
    expect(wants).to_contain_text("Not fitted for this: the schema differs")
    card(page, 1).get_by_label("Name", exact=True).fill("wishes")
    expect(shown.locator(".results")).to_contain_text("None of these questions is in the policy")


def test_the_dial_turns_to_the_parent(page: Page) -> None:
    body = asked(page)
    shown = loaded(page, "λ")
    dial = shown.get_by_label("λ", exact=True)
    best = {0.5: decide(body)["wants"], 0.0: decide(body, 0.0)["wants"]}
    for key, lam in (("End", 0.5), ("Home", 0.0)):
        dial.press(key)
        expect(dial).to_have_attribute("aria-valuetext", f"λ {lam:g}")
        heading = shown.locator("section").nth(1).locator("h3")
        expect(heading).to_contain_text(best[lam].best_name)
        chosen = shown.locator("section").nth(1).locator("li.best .share")
        expect(chosen).to_have_text(percent(max(best[lam].probabilities.values())))
    expect(shown.locator("svg")).to_have_count(3)


def test_two_lambdas_are_compared_and_differences_marked(page: Page) -> None:
    body = asked(page)
    shown = loaded(page, "Compare")
    expect(shown.get_by_label("Checkpoint A")).to_have_value("paths 1, λ 0.5")
    expect(shown.get_by_label("Checkpoint B")).to_have_value("paths 1, λ 0")
    one, other = decide(body), decide(body, 0.0)
    same = sum(one[name].best_name == other[name].best_name for name in one.answers)
    assert same < 3
    expect(shown).to_contain_text(f"{same} of 3 answers are the same.")
    for number, name in enumerate(body["questions"]):
        rows = shown.locator("section").nth(number).locator("tbody tr")
        order = ["yes", "no"] if name == "refund" else list(one[name].probabilities)
        for row, option in enumerate(order):
            a, b = one[name].probabilities[option], other[name].probabilities[option]
            expect(rows.nth(row).locator(".share")).to_have_text([percent(a), percent(b)])
            marked = "moved" in (rows.nth(row).get_attribute("class") or "")
            assert marked == (abs(b - a) >= 0.05)
    shown.get_by_label("Checkpoint B").select_option("paths 1, λ 0.5")
    expect(shown).to_contain_text("3 of 3 answers are the same.")
    expect(shown.locator("tbody td:last-child").first).to_have_text("0 %")


def test_two_checkpoints_are_compared_side_by_side(browser: Browser) -> None:
    with (
        live_server(also_checkpoints=("worlds", "a-twin-with-a-long-name=worlds")) as address,
        browser.new_context() as context,
    ):
        page = context.new_page()
        faults = complaints(page)
        page.goto(address)
        page.wait_for_selector(ANSWERED)
        body = asked(page)
        shown = loaded(page, "Compare")
        expect(shown.get_by_label("Checkpoint A")).to_have_value("paths 1, λ 0.5")
        other = shown.get_by_label("Checkpoint B")
        expect(other).to_have_value("worlds 1, λ 0.5")
        expect(other.locator("option")).to_have_text(
            ["paths 1, λ 0.5", "worlds 1, λ 0.5", "a-twin-with-a-long-name: worlds 1, λ 0.5"]
        )
        one, turned = (
            decide(body),
            opened("worlds", None).decide(body["state"], questions_from_json(body["questions"])),
        )
        same = sum(one[name].best_name == turned[name].best_name for name in one.answers)
        assert same < 3
        expect(shown).to_contain_text(f"{same} of 3 answers are the same.")
        shown.get_by_label("Checkpoint A").select_option("a-twin-with-a-long-name: worlds 1, λ 0.5")
        expect(other).to_have_value("worlds 1, λ 0.5")
        expect(shown).to_contain_text("3 of 3 answers are the same.")
        page.set_viewport_size({"width": 390, "height": 900})
        assert page.evaluate(OVERFLOW) == 0
        assert faults == []


@pytest.mark.parametrize("tab", ["λ", "Compare"])
def test_a_single_lambda_says_how_to_load_another(browser: Any, tab: str) -> None:
    with live_server() as address, browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector(ANSWERED)
        expect(loaded(page, tab)).to_contain_text("--also-lambda 0")
        if tab == "Compare":
            expect(loaded(page, tab)).to_contain_text("--also-checkpoint REF")


def test_time_and_tokens_of_the_call(page: Page) -> None:
    body = asked(page)
    shown = view(page, "Time")
    cells = shown.get_by_role("table").locator("td")
    expect(cells.nth(3)).to_have_text(str(decide(body).usage.input_tokens))
    bars = shown.get_by_role("listitem")
    before = bars.count()
    with page.expect_response("**/v1/systemone"):
        shown.get_by_role("button", name="Ask 10 more times").click()
    expect(bars).to_have_count(before + 10, timeout=20_000)
    expect(shown.get_by_role("button", name="Ask 10 more times")).to_be_enabled()


def test_the_median_of_an_even_number_is_between_the_middle_two(page: Page) -> None:
    shown = view(page, "Time")
    while shown.get_by_role("listitem").count() != 2:
        with page.expect_response("**/v1/systemone"):
            page.keyboard.press("Control+Enter")
        page.wait_for_selector(ANSWERED)
        expect(shown.get_by_role("listitem").nth(1)).to_be_visible()
    times = [int(each.split()[0]) for each in shown.locator("li .share").all_inner_texts()]
    median = shown.get_by_role("row", name="Median of the last 2").locator("td").inner_text()
    assert abs(int(median.split()[0]) - sum(times) / 2) <= 1


def test_views_are_reached_by_arrow_keys(page: Page) -> None:
    page.get_by_role("tab", name="Code").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Evidence")).to_be_focused()
    expect(page.get_by_role("tab", selected=True)).to_have_text("Evidence")
    page.keyboard.press("End")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Teach")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Code")
    expect(page.get_by_role("tabpanel")).to_have_count(1)


def test_shortcuts_do_what_their_list_says(page: Page) -> None:
    page.keyboard.press("Alt+Shift+S")
    expect(page.locator("#state")).to_be_focused()
    page.keyboard.press("Alt+Shift+V")
    expect(page.get_by_role("tab", name="Code")).to_be_focused()
    page.keyboard.press("Alt+Shift+T")
    expect(page.get_by_role("tab", name="Teach", selected=True)).to_be_focused()
    expect(page.get_by_role("textbox", name="Rows")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Rows")).to_be_focused()
    page.keyboard.press("Alt+Shift+Q")
    expect(card(page, 0).get_by_label("Name", exact=True)).to_be_focused()
    with page.expect_request("**/v1/systemone"):
        page.keyboard.press("Control+Enter")
    page.keyboard.press("Alt+Shift+K")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Alt + Shift + C")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
