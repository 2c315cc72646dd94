"""The playground in a real browser: what a person sees, types, presses and copies."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, Route, expect
from pydantic_ai.models.decision import DecisionRequest
from pydantic_ai.models.system_one import SystemOneModel
from pydantic_ai.providers.system_one import SystemOneProvider

from tests.path_engine import path_decider
from tests.serve.page.live import live_server
from thisthat.environment import ENDPOINT_KEY
from thisthat.questions import BooleanAnswer
from thisthat.questions_json import questions_from_json

ANSWERED = "#cards:not(.outdated)"
PAUSE = 120  # milliseconds without a keystroke before the page asks
EXAMPLES = ["A refund", "A shell command", "A ticket", "A mail"]


def card(page: Page, number: int) -> Locator:
    return page.locator("article").nth(number)


def shares(page: Page) -> list[list[float]]:
    """The length of every bar, card by card."""
    found: list[list[float]] = page.eval_on_selector_all(
        "article",
        """cards => cards.map(card => [...card.querySelectorAll(".bar")]
            .map(bar => Number(bar.style.getPropertyValue("--share"))))""",
    )
    return found


def library_shares(body: dict[str, Any]) -> list[list[float]]:
    """The same from the library; a boolean's card shows yes first."""
    decision = path_decider().decide(body["state"], questions_from_json(body["questions"]))
    return [
        list(answer.probabilities.values())[:: -1 if isinstance(answer, BooleanAnswer) else 1]
        for answer in decision.answers.values()
    ]


def questions_asked(page: Page) -> list[Request]:
    """A list that every request with a body joins from now on."""
    asked: list[Request] = []
    page.on("request", lambda request: request.method == "POST" and asked.append(request))
    return asked


def asked_by(page: Page, act: Any) -> dict[str, Any]:
    """The body of the request that ``act`` leads to, once its answer is shown.

    An earlier change may have its own request still to come: the last one is that of ``act``.
    """
    sent: list[str] = []

    def remember(request: Any) -> None:
        if request.url.endswith("/v1/systemone"):
            sent.append(request.post_data or "")

    page.on("request", remember)
    with page.expect_request("**/v1/systemone"):
        act()
    page.wait_for_selector(ANSWERED)
    page.remove_listener("request", remember)
    body: dict[str, Any] = json.loads(sent[-1])
    return body


def test_bars_are_the_answers_of_the_library(page: Page) -> None:
    for name in EXAMPLES:
        body = asked_by(page, page.get_by_role("button", name=name).click)
        for shown, expected in zip(shares(page), library_shares(body), strict=True):
            assert shown == pytest.approx(expected, abs=1e-12)
        kinds = {question["type"] for question in body["questions"].values()}
        assert kinds == {"noul", "choice", "score"}
    expect(page.locator("#meter")).to_have_text(
        re.compile(r"^\d+ ms · \d+ tokens read · none written$")
    )
    expect(page.locator("#model")).to_have_text("paths · 1 · λ 0.5")


def test_an_answer_that_comes_late_never_replaces_a_newer_one(page: Page) -> None:
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/v1/systemone", hold_first)
    with page.expect_request("**/v1/systemone"):
        page.fill("#state", '"old"')
    body = asked_by(page, lambda: page.fill("#state", '"new"'))
    newest = shares(page)
    held[0].fulfill(
        json={
            "model": "late",
            "usage": {"input_tokens": 1, "output_tokens": 0},
            "answers": {"refund": {"type": "noul", "noul": 1}},
        }
    )
    page.wait_for_timeout(150)
    assert shares(page) == newest
    assert newest[0] == pytest.approx(library_shares(body)[0], abs=1e-12)


def test_typing_asks_once_after_a_pause(page: Page) -> None:
    # The page's clock stands still, so that no pause of the machine counts as one of the typist.
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now()") + 1000)
    asked = questions_asked(page)
    instructions = page.locator("textarea.instructions").first
    for word in (" Really,", " truly?"):
        page.clock.run_for(PAUSE - 1)
        instructions.press_sequentially(word)
    page.clock.run_for(PAUSE - 1)
    assert asked == []
    page.clock.run_for(1)
    page.wait_for_selector(ANSWERED)
    assert len(asked) == 1
    assert "Is this refund within policy? Really, truly?" in (asked[0].post_data or "")


def test_an_example_has_a_twin_and_comes_back(page: Page) -> None:
    page.get_by_role("button", name="A ticket").click()
    twin = page.get_by_role("button", name="What if: an angry customer")
    assert "I am furious" in asked_by(page, twin.click)["state"]
    back = page.get_by_role("button", name="Back to the example")
    assert "before Friday" in asked_by(page, back.click)["state"]


def test_the_twin_of_an_example_never_replaces_a_state_of_ones_own(page: Page) -> None:
    twin = page.locator("#examples .twin")
    expect(twin).to_be_visible()
    example = page.locator("#state").input_value()
    page.fill("#state", example.replace("12", "13"))
    expect(twin).to_be_hidden()
    page.fill("#state", example)
    expect(twin).to_have_text("What if: 45 days instead of 12")
    twin.click()
    page.fill("#state", '"mine"')
    expect(twin).to_be_hidden()


def test_order_of_options_and_long_numbers_arrive_as_typed(page: Page) -> None:
    wants = card(page, 1).locator("input.name")
    wants.nth(1).fill("10")
    wants.nth(2).fill("9")
    wants.nth(3).fill("__proto__")
    state = '{"id": 12345678901234567890, "one": 1.0}'
    # On a slow machine the names typed before may have been asked about already.
    with page.expect_request(lambda request: state in (request.post_data or "")) as caught:
        page.fill("#state", state)
    text = caught.value.post_data or ""
    names = ["10", "9", "__proto__"]
    assert list(json.loads(text)["questions"]["wants"]["criteria"]) == names
    page.wait_for_selector(ANSWERED)
    assert sum(shares(page)[1]) == pytest.approx(1)


def test_problems_stand_beside_their_fields_and_nothing_is_sent(page: Page) -> None:
    asked = questions_asked(page)
    page.fill("#state", '{"open": ')
    expect(page.locator("#state-problem")).to_contain_text("Not valid JSON")
    expect(page.locator("#state-problem")).to_contain_text("For plain text choose Text.")
    expect(page.locator("#state")).to_have_attribute("aria-invalid", "true")
    page.fill("#state", "12")
    expect(page.locator("#state-problem")).to_contain_text("an object, an array or a text")
    card(page, 0).get_by_label("Name", exact=True).fill("age")
    expect(card(page, 2).locator(".name-field .problem")).to_contain_text("already one called")
    card(page, 1).get_by_label("Name of option 2").fill(" ")
    expect(card(page, 1).locator(".row").nth(1).locator(".problem")).to_contain_text("needs a name")
    card(page, 2).get_by_label("Text of level 1").fill("")
    expect(card(page, 2).locator(".row").nth(1).locator(".problem")).to_contain_text("needs a text")
    page.wait_for_timeout(250)
    assert asked == []


def test_refusals_of_the_server_stand_beside_their_fields(
    page: Page, refusals: list[tuple[str, int]]
) -> None:
    refusals.append(("/v1/systemone", 422))
    page.fill("#state", json.dumps("word " * 400))
    expect(page.locator("#state-problem")).to_have_text(
        re.compile(r"^\d+ tokens, but at most \d+ fit beside these questions; shorten it$")
    )
    page.fill("#state", '"short"')
    page.wait_for_selector(ANSWERED)
    expect(page.locator("#state-problem")).to_be_hidden()
    fault = {
        "loc": ["body", "questions", "wants", "criteria", 2, "name"],
        "msg": "odd",
        "type": "x",
    }
    page.route("**/v1/systemone", lambda route: route.fulfill(status=422, json={"detail": [fault]}))
    page.fill("#state", '"again"')
    expect(card(page, 1).locator(".row").nth(2).locator(".problem")).to_have_text("odd")


def test_a_busy_server_is_asked_again(page: Page, refusals: list[tuple[str, int]]) -> None:
    refusals.append(("/v1/systemone", 503))
    busy = {"retry-after-ms": "300", "retry-after": "1"}
    refuse: Any = lambda route: route.fulfill(status=503, headers=busy, json={"detail": "busy"})  # noqa: E731
    page.route("**/v1/systemone", refuse, times=1)
    page.fill("#state", '"hello"')
    expect(page.locator("#notice")).to_have_text("busy Trying again in 1 s.")
    page.wait_for_selector(ANSWERED)
    expect(page.locator("#notice")).to_be_hidden()


def test_a_server_that_is_gone_is_said(page: Page, refusals: list[tuple[str, int]]) -> None:
    refusals.append(("/v1/systemone", 0))
    page.route("**/v1/systemone", lambda route: route.abort())
    page.fill("#state", '"hello"')
    expect(page.locator("#notice")).to_have_text("The server cannot be reached.")


def test_threshold_moves_the_branch_without_asking(page: Page) -> None:
    asked = questions_asked(page)
    yes = shares(page)[0][0]
    slider = card(page, 0).get_by_label("Threshold")
    slider.fill(f"{yes - 0.02:.2f}")
    expect(card(page, 0).locator(".way.taken")).to_contain_text("yes")
    slider.fill(f"{yes + 0.02:.2f}")
    expect(card(page, 0).locator(".way.taken .target")).to_have_text("no")
    slider.press("Home")
    expect(card(page, 0).locator(".way.taken .condition")).to_have_text("if refund > 0.00")
    choice = card(page, 1)
    choice.get_by_label("Threshold").fill("0.99")
    expect(choice.locator(".way.taken .target")).to_have_text("ask a person")
    choice.get_by_label("Threshold").fill("0.01")
    best = max(range(3), key=shares(page)[1].__getitem__)
    name = choice.locator("input.name").nth(best + 1).input_value()
    expect(choice.locator(".way.taken .target")).to_have_text(name)
    assert asked == []


def test_an_expected_level_is_shown_finer_than_its_threshold_can_be_set(page: Page) -> None:
    label = card(page, 2).locator(".threshold label")
    expect(label).to_have_text(re.compile(r"^Expected level \d\.\d{3}, threshold$"))


def test_questions_and_options_come_and_go_by_keyboard(page: Page) -> None:
    page.get_by_role("button", name="Choice", exact=True).press("Enter")
    added = card(page, 3)
    expect(added.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("next")
    added.get_by_label("Question", exact=True).fill("What now?")
    added.get_by_label("Name of option 1").fill("go")
    added.get_by_label("Name of option 1").press("Enter")
    expect(added.get_by_label("Name of option 2")).to_be_focused()
    page.keyboard.type("wait")
    added.get_by_label("Name of option 3").fill("stop")
    body = asked_by(page, lambda: added.get_by_label("Description of option 3").fill("for good"))
    assert body["questions"]["next"] == {
        "type": "choice",
        "instructions": "What now?",
        "criteria": {"go": None, "wait": None, "stop": "for good"},
    }
    body = asked_by(page, lambda: added.get_by_label("Remove option 2").press("Enter"))
    expect(added.get_by_label("Name of option 2")).to_be_focused()
    assert list(body["questions"]["next"]["criteria"]) == ["go", "stop"]
    added.get_by_label("Score").check()
    added.get_by_label("Text of level 0").fill("low")
    body = asked_by(page, lambda: added.get_by_label("Text of level 1").fill("high"))
    assert body["questions"]["next"]["criteria"] == ["low", "high"]
    body = asked_by(page, lambda: added.get_by_label("Remove this question").press("Enter"))
    assert "next" not in body["questions"]
    expect(card(page, 2).get_by_label("Name", exact=True)).to_be_focused()


def test_every_control_is_reached_by_tab_and_has_a_name(page: Page) -> None:
    page.evaluate("document.addEventListener('focusin', event => event.target.dataset.seen = 1)")
    skip = page.locator(".skip")
    page.keyboard.press("Tab")
    expect(skip).to_be_focused()
    page.keyboard.press("Tab")
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    missed = page.eval_on_selector_all(
        "button:not(:disabled, [tabindex='-1']), input:not([type=radio]), textarea, summary,"
        " pre[tabindex], :checked",
        """nodes => nodes
            .filter(node => !node.dataset.seen && node.checkVisibility())
            .map(node => node.outerHTML)""",
    )
    assert missed == []
    nameless = page.eval_on_selector_all(
        "button, input, textarea",
        """nodes => nodes
            .filter(node => !node.ariaLabel && !node.labels?.length && !node.textContent.trim())
            .map(node => node.outerHTML)""",
    )
    assert nameless == []


def test_answers_are_announced(page: Page) -> None:
    announcer = page.locator("#announcer[aria-live=polite]")
    expect(announcer).to_contain_text("refund: ")
    expect(announcer).to_contain_text("goes to")


def test_prompt_shows_slots_and_text_stays_text(page: Page) -> None:
    page.get_by_label("Text", exact=True).check()
    page.fill("#state", "<img src=x onerror=alert(1)>")
    page.get_by_role("tab", name="Prompt").click()
    expect(page.locator("#prompt mark")).to_have_text(["refund", "wants", "age"])
    expect(page.locator("#prompt")).to_contain_text("<img src=x onerror=alert(1)>")
    card(page, 0).get_by_label("Name", exact=True).fill("due")
    expect(page.locator("#prompt mark").first).to_have_text("due")


def test_text_that_is_json_is_offered_as_json(page: Page) -> None:
    page.get_by_label("Text", exact=True).check()
    body = asked_by(page, lambda: page.fill("#state", '{"a": 1}'))
    assert body["state"] == '{"a": 1}'
    body = asked_by(page, page.get_by_role("button", name="Treat it as JSON").click)
    assert body["state"] == {"a": 1}


def test_link_carries_the_play_and_making_it_sends_nothing(page: Page, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="A ticket").click()
    page.fill("#state", "Grüße, 東京 🙂")
    card(page, 0).get_by_label("Threshold").fill("0.33")
    page.wait_for_selector(ANSWERED)
    asked = questions_asked(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#share")).to_have_text("Copied")
    assert asked == []
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{address}/#play=")
    other = page.context.new_page()
    other.goto(link)
    other.wait_for_selector(ANSWERED)
    expect(other.locator("#state")).to_have_value("Grüße, 東京 🙂")
    expect(card(other, 0).get_by_label("Threshold")).to_have_value("0.33")
    assert shares(other) == shares(page)


def test_questions_that_were_not_taught_are_marked(page: Page) -> None:
    untaught = {"value": "refund, two%20words"}

    def marked(route: Route) -> None:
        answer = route.fetch()
        headers = {**answer.headers, "x-thisthat-untaught": untaught["value"]}
        route.fulfill(response=answer, headers=headers)

    page.route("**/v1/systemone", marked)
    note = "Untaught in this wording: the checkpoint below answers."
    asked_by(page, lambda: card(page, 1).get_by_label("Name", exact=True).fill("two words"))
    expect(card(page, 0)).to_contain_text(note)
    expect(card(page, 1)).to_contain_text(note)
    expect(card(page, 2).get_by_text(note)).to_be_hidden()
    expect(page.locator("#model")).to_have_text("paths · 1 · λ 0.5")
    untaught["value"] = "refund, two%20words, age"
    asked_by(page, lambda: page.fill("#state", '"another"'))
    expect(page.locator("#model")).to_have_text("paths · 1 · λ 0.5 · untaught")


SCHEMA = {
    "10": "Is it late?",
    "2": {"type": "choice", "criteria": {"b": "the second", "9": None}},
    "why": {"type": "boolean", "instructions": 'a "why": b?', "criteria": {"true": "yes"}},
    "how": {"type": "score", "criteria": ["low", "high"]},
}


def test_a_schema_file_is_loaded_and_can_be_undone(page: Page) -> None:
    before = asked_by(page, page.get_by_role("button", name="A ticket").click)
    page.get_by_text("Load questions.json").click()
    file = {
        "name": "questions.json",
        "mimeType": "application/json",
        "buffer": json.dumps(SCHEMA).encode(),
    }
    load = page.get_by_label("Schema file")
    body = asked_by(page, lambda: load.set_input_files(file))  # type: ignore[arg-type]
    assert body["state"] == before["state"]
    assert list(body["questions"]) == list(SCHEMA)
    assert body["questions"]["10"] == {"type": "noul", "instructions": "Is it late?"}
    assert list(body["questions"]["2"]["criteria"].items()) == [("b", "the second"), ("9", None)]
    assert body["questions"]["why"] == {**SCHEMA["why"], "type": "noul"}  # type: ignore[dict-item]
    assert body["questions"]["how"] == SCHEMA["how"]
    undone = page.locator("#schema").get_by_role("button", name="Undo")
    assert asked_by(page, undone.click)["questions"] == before["questions"]


def test_what_is_downloaded_can_be_loaded(page: Page) -> None:
    body = asked_by(page, page.get_by_role("button", name="A mail").click)
    page.get_by_role("tab", name="Policy").click()
    with page.expect_download() as caught:
        page.get_by_role("button", name="Download schema.json").click()
    text = Path(caught.value.path()).read_text(encoding="utf-8")
    assert json.loads(text)["phishing"]["type"] == "boolean"
    assert "noul" not in text
    page.get_by_text("Load questions.json").click()
    page.locator("#schema-text").fill(text)
    use = page.get_by_role("button", name="Use these questions")
    assert asked_by(page, use.click)["questions"] == body["questions"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "Not valid JSON"),
        ("[]", "It must be an object of named questions."),
        ('{"a": 1}', "a: must be an object or a text"),
        ('{"a": {"type": "bool"}}', 'a.type: is "bool"; it must be one of boolean, choice, score'),
        ('{"a": {"type": "boolean", "prompt": "x"}}', "a.prompt: is not known; a question has"),
        ('{"a": {"type": "boolean", "abstain": true}}', "a.abstain: this page has no question"),
        ('{"a": {"type": "boolean", "criteria": {"yes": "x"}}}', "a.criteria: must be an object"),
        ('{"a": {"type": "choice"}}', "a.criteria: must be an object of options"),
        ('{"a": {"type": "choice", "criteria": {"b": 1}}}', "a.criteria.b: must be a text or null"),
        ('{"a": {"type": "score", "criteria": ["x", 2]}}', "a.criteria[1]: must be a text"),
        ('{"a": {"type": "score", "criteria": {}}, "b": 2}', "b: must be an object or a text"),
    ],
)
def test_a_wrong_schema_is_told_by_field_and_nothing_is_loaded(
    page: Page, text: str, told: str
) -> None:
    page.get_by_text("Load questions.json").click()
    page.locator("#schema-text").fill(text)
    page.get_by_role("button", name="Use these questions").click()
    expect(page.locator("#schema-problem")).to_contain_text(told)
    expect(card(page, 0).get_by_label("Name", exact=True)).to_have_value("refund")
    expect(page.locator("#schema-text")).to_have_value(text)


def test_a_damaged_link_is_said(browser: Browser, address: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        for fragment in ["#play=", "#play=!!", "#play=AAAA", "#play=q1YqSy0qzszPU7JSMlSqBQA"]:
            page.goto("about:blank")
            page.goto(f"{address}/{fragment}")
            page.wait_for_selector(ANSWERED)
            expect(page.locator("#link-notice")).to_contain_text("This link is damaged")
            expect(page.locator("article")).to_have_count(3)


def test_a_reload_keeps_the_work(page: Page) -> None:
    page.fill("#state", '"mine"')
    page.reload()
    expect(page.locator("#state")).to_have_value('"mine"')


def code(page: Page, language: str) -> str:
    page.get_by_role("tab", name="Code").click()
    page.get_by_label(language, exact=True).check()
    return page.locator("#code").inner_text()


def test_python_code_gives_the_same_answers(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    for name in EXAMPLES:
        body = asked_by(page, page.get_by_role("button", name=name).click)
        ran: dict[str, Any] = {}
        exec(code(page, "Python"), ran)
        assert (
            ran["decision"].answers
            == path_decider().decide(body["state"], questions_from_json(body["questions"])).answers
        )
        taken = page.locator(".way.taken .target").all_inner_texts()
        assert capsys.readouterr().out.splitlines() == [
            f"{question} {way}" for question, way in zip(body["questions"], taken, strict=True)
        ]


def test_python_code_keeps_difficult_text(page: Page) -> None:
    state = (
        '{"a": true, "b": null, "c": "tr\\u0075e \\/ \\ud83d\\ude42", "n": 12345678901234567890}'
    )
    card(page, 0).get_by_label("What yes means").fill('a "quoted" \\ thing')
    body = asked_by(page, lambda: page.fill("#state", state))
    ran: dict[str, Any] = {}
    exec(code(page, "Python"), ran)
    assert ran["state"] == body["state"] == json.loads(state)
    assert ran["questions"]["refund"].true == 'a "quoted" \\ thing'


def test_curl_sends_the_same_request(page: Page, address: str) -> None:
    body = asked_by(page, page.get_by_role("button", name="A mail").click)
    text = code(page, "curl")
    assert text.startswith(f"curl {address}/v1/systemone ")
    sent = re.search(r"<<'JSON'\n(.*)\nJSON\n", text, re.DOTALL)
    assert sent is not None
    assert json.loads(sent[1]) == body


def test_javascript_code_gives_the_same_answers(page: Page) -> None:
    page.get_by_label("Text", exact=True).check()
    asked_by(page, lambda: page.fill("#state", '`rm ${HOME}` \\ "quoted"'))
    printed: list[str] = []
    page.on("console", lambda message: printed.append(message.text))
    page.evaluate(f"async () => {{ {code(page, 'JavaScript')} }}")
    taken = page.locator(".way.taken .target").all_inner_texts()
    names = ["refund", "wants", "age"]
    assert printed == [f"{name} {way}" for name, way in zip(names, taken, strict=True)]


def executed(text: str) -> dict[str, Any]:
    """What a program leaves behind; in a thread, where no event loop runs yet."""
    ran: dict[str, Any] = {}
    with ThreadPoolExecutor(1) as pool:
        pool.submit(exec, text, ran).result()
    return ran


def test_pydantic_code_asks_the_same(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    for name in EXAMPLES:
        body = asked_by(page, page.get_by_role("button", name=name).click)
        ran = executed(code(page, "pydantic-ai"))
        assert _wired(ran["request"]) == body
        taken = page.locator(".way.taken .target").all_inner_texts()
        assert capsys.readouterr().out.splitlines() == [
            f"{question} {way}" for question, way in zip(body["questions"], taken, strict=True)
        ]


def _wired(request: DecisionRequest) -> dict[str, Any]:
    """The body that pydantic-ai sends."""
    model = SystemOneModel("default", provider=SystemOneProvider(base_url="http://nowhere"))
    return model._request_body(request, {})[0]


def test_pydantic_code_keeps_difficult_questions(page: Page) -> None:
    card(page, 0).get_by_label("Name", exact=True).fill('the "2nd" class?')
    card(page, 0).get_by_label("What no means").fill("")
    card(page, 2).get_by_label("Question", exact=True).fill("")
    asked_by(page, lambda: card(page, 1).get_by_label("Description of option 3").fill(""))
    body = asked_by(page, lambda: page.fill("#state", '{"open": true, "by": null, "n": 1.0}'))
    assert _wired(executed(code(page, "pydantic-ai"))["request"]) == body


def test_a_key_is_asked_for_and_kept_nowhere(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_server(keys=("secret",)) as address, browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        expect(page.locator("#key")).to_be_focused()
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#notice")).to_have_text("The server does not know this key.")
        page.locator("#key").fill("secret")
        page.keyboard.press("Enter")
        page.wait_for_selector(ANSWERED)
        expect(page.locator("#notice")).to_be_hidden()
        expect(page.locator("#key-form")).to_be_hidden()
        expect(page.locator("#state")).to_be_focused()
        stored = page.evaluate(
            "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
        )
        assert "secret" not in stored
        assert "secret" not in page.url
        for language in ("Python", "curl", "JavaScript", "pydantic-ai"):
            shown = code(page, language)
            assert ENDPOINT_KEY in shown
            assert "secret" not in shown
        monkeypatch.setenv(ENDPOINT_KEY, "secret")
        ran: dict[str, Any] = {}
        exec(code(page, "Python"), ran)
        assert set(ran["decision"].answers) == {"refund", "wants", "age"}


def background(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour


def test_light_and_dark_follow_the_system_until_chosen(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    light = background(page)
    page.emulate_media(color_scheme="dark")
    dark = background(page)
    assert light != dark
    page.get_by_role("button", name="Switch to light colours").click()
    assert background(page) == light
    page.reload()
    assert background(page) == light
    page.get_by_role("button", name="Switch to dark colours").click()
    assert background(page) == dark


def test_the_tabs_share_one_line_on_a_desk(page: Page) -> None:
    page.set_viewport_size({"width": 1100, "height": 900})
    tops = page.get_by_role("tab").evaluate_all("tabs => tabs.map((tab) => tab.offsetTop)")
    assert len(tops) == 9
    assert len(set(tops)) == 1


def test_a_phone_never_scrolls_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("tab", name="Prompt").click()
    for name in EXAMPLES:
        body = asked_by(page, page.get_by_role("button", name=name).click)
        expect(page.locator("#prompt mark")).to_have_text(list(body["questions"]))
        assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_paper_shows_the_state_and_no_controls(page: Page) -> None:
    page.emulate_media(media="print")
    expect(page.locator("#state-print")).to_be_visible()
    expect(page.locator("#state-print")).to_have_text(page.locator("#state").input_value())
    expect(page.get_by_role("button")).to_have_count(0)
