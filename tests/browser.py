"""A real browser for tests of pages, and what a page must keep whoever made it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; the test is skipped where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no chromium on the path; the page is tested in a real browser")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


REFUSED = re.compile(r"Failed to load resource: .* status of (\d+)")


def complaints(page: Page, refusals: Collection[tuple[str, int]] = ()) -> list[str]:
    """Errors of the page and its console from now on, but those refusals: a path, a status.

    The status of a request that the test aborts is 0.
    """
    found: list[str] = []

    def told(message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        status = REFUSED.match(message.text)
        url = message.location["url"]
        if (urlsplit(url).path, int(status[1]) if status else 0) not in refusals:
            found.append(f"{message.text} {url}")

    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.on("console", told)
    return found


TOO_FAINT = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const kept = (make) => {
    const known = new Map();
    return (key) => {
      if (!known.has(key)) known.set(key, make(key));
      return known.get(key);
    };
  };
  const parse = kept((css) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  });
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
  const background = kept((element) => {
    if (!element) return [255, 255, 255];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, background(element.parentElement));
  });
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) =>
      c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility({
      visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true})) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height || element.closest('script, style, noscript')) continue;
    const style = getComputedStyle(element);
    const under = background(element);
    const ink = over(parse(style.color), under);
    const [high, low] = [light(ink), light(under)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      faint.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className}`
        + ` ${walker.currentNode.textContent.trim().slice(0, 40)}`);
    }
  }
  return [...new Set(faint)];
}"""
"""Texts whose contrast is below WCAG AA: 4.5, or 3 where they are large."""

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
