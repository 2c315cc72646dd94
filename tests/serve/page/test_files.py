"""The page's files: served as they are, nothing inline, nothing from elsewhere."""

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from thisthat.serve.http.routes import PlainRoute
from thisthat.serve.page import files as page_files
from thisthat.serve.page import page_operations

STATIC = Path(page_files.__file__).parent / "static"
NAMES = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def client() -> TestClient:
    routes = [PlainRoute(each.method, each.path, each.endpoint) for each in page_operations()]
    return TestClient(Starlette(routes=routes))


@pytest.mark.parametrize(("path", "name"), [("/", "index.html"), ("/loop", "loop.html")])
def test_a_page_is_under_a_strict_policy(client: TestClient, path: str, name: str) -> None:
    response = client.get(path)
    assert response.content == (STATIC / name).read_bytes()
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_served(client: TestClient, name: str) -> None:
    response = client.get(f"/page/{name}")
    assert response.status_code == 200
    assert response.content == (STATIC / name).read_bytes()
    again = client.get(f"/page/{name}", headers={"If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "name",
    [
        "missing.js",
        "views",
        "views/",
        "../files.py",
        "views/../../files.py",
        "..%2Ffiles.py",
        "%2Fetc%2Fpasswd",
    ],
)
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/page/{name}").status_code == 404


def test_page_names_only_files_that_exist() -> None:
    for page in STATIC.glob("*.html"):
        named = re.findall(r'(?:src|href)="([^"#]+)"', page.read_text())
        files = {name.removeprefix("page/") for name in named} - {"./", "loop"}
        assert files <= set(NAMES), page.name
    for script in STATIC.rglob("*.js"):
        imported = re.findall(r'(?:from |import\()"(\.[^"]+)"', script.read_text())
        for name in imported:
            assert (script.parent / name).is_file(), f"{script.name} imports {name}"


def test_folders_stay_small() -> None:
    for folder in (STATIC, *(path for path in STATIC.iterdir() if path.is_dir())):
        assert sum(path.is_file() for path in folder.iterdir()) <= 25, folder.name


@pytest.mark.parametrize("name", NAMES)
def test_no_address_of_another_machine(name: str) -> None:
    found = re.findall(r"https?://[^\s\"'`]+", (STATIC / name).read_text())
    assert set(found) <= {"http://www.w3.org/2000/svg"}


def test_no_markup_from_text_and_nothing_inline() -> None:
    for script in STATIC.rglob("*.js"):
        text = script.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    html = "".join(page.read_text() for page in STATIC.glob("*.html"))
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", html)
