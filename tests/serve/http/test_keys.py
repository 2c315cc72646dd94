"""Keys: where they come from, what each may do, and changing them while the server runs."""

import json
import os
from pathlib import Path

import pytest

from tests.serve.support import REQUEST, get, log_lines, post, service_for
from thisthat.errors import InvalidInputError
from thisthat.serve.http import keys as module
from thisthat.serve.http.keys import Keys, keys_in


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_keys_come_from_a_file_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# mine\none\n\ntwo # theirs\n")
    given = keys_in("KEYS", {"KEYS": "three, four"})
    assert Keys("decide", given, file).entries() == ["three", "four", "one", "two"]
    assert keys_in("KEYS", {}) == ()
    file.write_text("on#e\n  # mine\ntwo#\t# theirs\n")
    assert Keys("decide", (), file).entries() == ["on#e", "two#"]
    file.write_text("# none\n")
    with pytest.raises(InvalidInputError, match="no key"):
        Keys("decide", (), file).entries()
    with pytest.raises(InvalidInputError, match="cannot be read"):
        Keys("decide", (), tmp_path / "missing").entries()


@pytest.mark.parametrize("blank", ["", " ", " , ", ",,"])
def test_blank_keys_never_open_the_server(blank: str) -> None:
    with pytest.raises(InvalidInputError, match="KEYS: is set but holds no key"):
        keys_in("KEYS", {"KEYS": blank})
    for field in ("keys", "admin_keys"):
        with pytest.raises(InvalidInputError, match="empty key"):
            service_for(load=False, **{field: (blank.strip(" ,"),)})


@pytest.mark.parametrize(
    ("entry", "says"),
    [("a b", "2 words"), ("a b c d", "4 words"), ("me decide+fly k", "known are decide, admin")],
)
def test_an_entry_that_is_no_key_is_refused(entry: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        service_for(load=False, keys=(entry,))


def test_a_key_does_what_its_scopes_say_and_is_logged_by_name() -> None:
    service = service_for(keys=("shop decide d", "ops admin a", "boss decide+admin b", "bare"))
    reload = {"lambda": 0.5}
    with log_lines() as lines:
        for key, decides, administers in [
            ("d", 200, 403),
            ("a", 403, 200),
            ("b", 200, 200),
            ("bare", 200, 403),
            ("unknown", 401, 401),
        ]:
            headers = bearer(key)
            assert post(service, "/v1/systemone", REQUEST, headers=headers).status_code == decides
            answered = post(service, "/admin/reload", reload, headers=headers)
            assert answered.status_code == administers
    callers = [line.get("caller") for line in lines if line["message"] == "request"]
    assert callers == ["shop", None, None, "ops", "boss", "boss", "key 4", None, None, None]
    assert not [line for line in lines if "Bearer" in json.dumps(line)]


def test_keys_change_while_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.0)
    file = tmp_path / "keys"
    file.write_text("shop decide old\n")
    service = service_for(keys_file=file)

    def status(key: str) -> int:
        return get(service, "/v1/models", headers=bearer(key)).status_code

    assert (status("old"), status("new")) == (200, 401)
    with log_lines() as lines:
        file.write_text("shop decide old\nshop decide new\n")
        assert (status("old"), status("new")) == (200, 200)
        file.write_text("shop decide new\n")
        assert (status("old"), status("new")) == (401, 200)
        for broken in ("", "shop fly new\n"):
            file.write_text(broken)
            os.utime(file, ns=(1, len(broken)))
            assert (status("old"), status("new")) == (401, 200)
        file.unlink()
        assert (status("none"), status("new")) == (401, 200)
    told = [line["message"] for line in lines if line["message"] != "request"]
    assert told == ["keys read again"] * 2 + ["the old keys stay"] * 3


def test_kept_prefixes_are_not_shared_between_keys() -> None:
    service = service_for(keys=("one", "two"))
    body = {"states": ["x"], "questions": {"q": "Is it?"}, "layout": "schema-first"}

    def cached(key: str) -> int:
        answered = post(service, "/v1/decide", body, headers=bearer(key))
        usage = json.loads(answered.text)["usage"]
        assert json.loads(answered.text)["answers"]["q"] == library
        return int(usage["cached_tokens"])

    library = json.loads(post(service_for(), "/v1/decide", body).text)["answers"]["q"]
    assert cached("one") == 0
    assert cached("one") > 0
    assert cached("two") == 0
    assert cached("two") > 0
