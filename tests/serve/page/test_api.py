"""The API page: complete, offline, readable on a narrow screen and in the dark."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.serve.support import in_process, run, service_for
from thisthat.serve.page.api import page

CONTRAST = """() => {
  const lum = (c) => {
    const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (!c.endsWith(', 0)')) return c;
    }
    return 'rgb(255, 255, 255)';
  };
  let least = 21;
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [lum(getComputedStyle(e).color), lum(behind(e))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
}"""


async def _fetched(path: str, **settings: Any) -> httpx.Response:
    async with in_process(service_for(**settings)) as client:
        return await client.get(path)


def test_it_has_every_operation_and_every_refusal() -> None:
    document = run(_fetched("/openapi.json")).json()
    text = run(_fetched("/docs")).text
    for path, ways in document["paths"].items():
        for method, about in ways.items():
            if method == "head":
                continue
            assert f'id="{about["operationId"]}"' in text, path
            assert about["summary"] in text.replace("&#x27;", "'"), path
    assert "questions.NAME (choice).criteria" in text
    assert "The checkpoint cannot be loaded" in text
    assert len(text) < 150_000


def test_it_is_under_a_strict_policy_and_needs_no_key() -> None:
    answer = run(_fetched("/docs", keys=("secret",)))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert "style=" not in answer.text
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", answer.text)


def test_what_a_document_says_is_escaped() -> None:
    nasty = "<img src=x onerror=alert(1)>'\""
    schema = {
        "type": "object",
        "properties": {nasty: {"enum": [nasty], "description": nasty}},
        "examples": [{nasty: "it's"}],
    }
    operation = {
        "operationId": "x",
        "summary": nasty,
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"content": {"application/json": {"schema": schema}}}},
    }
    document = {
        "info": {"title": nasty, "summary": nasty, "version": "1"},
        "paths": {"/x": {"post": operation}},
    }
    assert "<img" not in page(document)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_reads_well_on_a_narrow_screen(browser: Browser, address: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    faults: list[str] = []
    opened.on("console", lambda said: faults.append(said.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("requestfailed", lambda request: faults.append(request.url))
    opened.goto(f"{address}/docs")
    expect(opened.get_by_role("heading", level=1)).to_have_text("thisthat API")
    opened.get_by_role("link", name="POST /v1/decide", exact=True).click()
    expect(opened.locator("#post_v1_decide")).to_be_in_viewport()
    for summary in opened.locator("summary").all():
        summary.click()
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.evaluate(CONTRAST) >= 4.5
    assert faults == []
    context.close()
