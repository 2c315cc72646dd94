"""Measure two replicas on Ray Serve: schemas kept, work shared, a kill, a reload; the real model.

python scripts/measure_replicas.py [requests] [port]
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import httpx

ADMIN = {"authorization": "Bearer admin"}
SCHEMAS = 20


def main(requests: int = 400, port: int = 8417) -> None:
    """Start the replicas, ask, kill one, reload, stop."""
    url = f"http://127.0.0.1:{port}"
    command = ["thisthat", "serve", "--on", "ray", "--replicas", "2", "--port", str(port)]
    server = subprocess.Popen(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        env={**os.environ, "THISTHAT_ADMIN_KEYS": "admin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        began = time.monotonic()
        while not _ready(url):
            time.sleep(0.5)
        print(f"both replicas ready in {time.monotonic() - began:.0f} s", flush=True)
        _skewed(url, requests)
        _reload(url)
        _kill(url)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(120)


def _ready(url: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{url}/readyz", timeout=5).status_code == 200
    return False


def _ask(client: httpx.Client, schema: int) -> httpx.Response:
    what = f"Is this about matter {schema}: refunds, parcels, invoices, passwords or complaints?"
    body = {"states": ["I was charged twice."], "questions": {"q": what}, "layout": "schema-first"}
    return client.post("/v1/decide", json=body, timeout=60)


def _numbers(count: int, seed: int) -> list[int]:
    ends = list(accumulate(1 / (n + 1) for n in range(SCHEMAS)))
    return random.Random(seed).choices(range(SCHEMAS), cum_weights=ends, k=count)


def _skewed(url: str, requests: int) -> None:
    before, spent, began = _work(url), _spent(), time.monotonic()
    with ThreadPoolExecutor(4) as pool, httpx.Client(base_url=url) as client:
        asked = [pool.submit(_ask, client, number) for number in _numbers(requests, 1)]
        found = [each.result() for each in asked]
    seconds = time.monotonic() - began
    cost = {name: 1000 * (now - spent[name]) / requests for name, now in _spent().items()}
    kept = sum(each.json()["usage"]["cached_tokens"] > 0 for each in found)
    time.sleep(1.5)
    work = Counter(_work(url))
    work.subtract(before)
    times = sorted(each.elapsed.total_seconds() for each in found)
    print(f"{requests} requests, {SCHEMAS} schemas, the n-th 1/n as often as the first:")
    print(f"  schema kept: {kept / requests:.1%}")
    print(f"  largest share of a replica: {max(work.values()) / sum(work.values()):.1%}")
    print(f"  {requests / seconds:.1f} requests/s, median {times[requests // 2] * 1000:.0f} ms")
    told = ", ".join(f"{name} {each:.1f} ms" for name, each in cost.items())
    print(f"  CPU time a request: {told}", flush=True)


def _work(url: str) -> dict[str, int]:
    found = {}
    for line in httpx.get(f"{url}/metrics", timeout=30).text.splitlines():
        if line.startswith('thisthat_requests_total{path="/v1/decide"'):
            found[line.partition('replica="')[2].partition('"')[0]] = int(float(line.split()[-1]))
    return found


def _load(url: str, stop: threading.Event, seed: int) -> list[tuple[float, Any, str]]:
    """When answers came: their λ, or what went wrong."""
    seen: list[tuple[float, Any, str]] = []
    with httpx.Client(base_url=url) as client:
        for number in _numbers(100_000, seed):
            if stop.is_set():
                break
            try:
                answer = _ask(client, number)
            except httpx.HTTPError as error:
                seen.append((time.monotonic(), None, type(error).__name__))
                continue
            good = answer.status_code == 200
            lam = answer.headers.get("x-thisthat-lambda") if good else None
            retry = answer.headers.get("retry-after-ms", "never")
            fault = "" if good else f"{answer.status_code}, retry after {retry} ms"
            seen.append((time.monotonic(), lam, fault))
    return seen


def _under_load(url: str, act: Any) -> list[tuple[float, Any, str]]:
    stop = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(_load, url, stop, seed) for seed in range(4)]
        time.sleep(2)
        act()
        time.sleep(2)
        stop.set()
        return sorted((each for one in running for each in one.result()), key=lambda each: each[0])


def _reload(url: str) -> None:
    span: list[float] = []

    def act() -> None:
        span.append(time.monotonic())
        body = {"lambda": 0.5}
        told = httpx.post(f"{url}/admin/reload", json=body, headers=ADMIN, timeout=300)
        span.append(time.monotonic())
        assert told.json()["lambda"] == 0.5, told.text

    seen = _under_load(url, act)
    changes = [at for at, lam, _ in seen if lam == "0.5"]
    last = max(at for at, lam, _ in seen if lam == "1")
    faults = Counter(fault for _, _, fault in seen if fault)
    print(
        f"reload of λ under load: {span[1] - span[0]:.1f} s, {len(seen)} requests, {dict(faults)}"
    )
    print(f"  both λ were answering for {max(0.0, last - changes[0]):.2f} s")


def _kill(url: str) -> None:
    span: list[float] = []

    def act() -> None:
        before = _processes()
        span.append(time.monotonic())
        os.kill(min(before), signal.SIGKILL)
        while len(now := _processes()) < 2 or now == before or not _both(url):
            time.sleep(0.2)
        span.append(time.monotonic())

    seen = _under_load(url, act)
    faults = Counter(fault for _, _, fault in seen if fault)
    print(f"a replica killed under load: back in {span[1] - span[0]:.1f} s")
    print(f"  {len(seen)} requests, not answered: {dict(faults)}")
    print(f"  λ afterwards: {sorted({lam for at, lam, _ in seen if at > span[1] and lam})}")


def _processes(name: str = "ServeReplica:thisthat:Replica") -> set[int]:
    found = set()
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if each.read_bytes().startswith(f"ray::{name}".encode()):
                found.add(int(each.parent.name))
    return found


def _spent() -> dict[str, float]:
    """CPU seconds so far of Ray's proxy, the front, the replicas."""
    names = {"proxy": "ProxyActor", "front": "ServeReplica:thisthat:Front"}
    names["replicas"] = "ServeReplica:thisthat:Replica"
    tick = os.sysconf("SC_CLK_TCK")
    found = dict.fromkeys(names, 0.0)
    for name, prefix in names.items():
        for pid in _processes(prefix):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[name] += (int(fields[11]) + int(fields[12])) / tick
    return found


def _both(url: str) -> bool:
    """Whether both replicas report, the killed one no more."""
    page = httpx.get(f"{url}/metrics", timeout=30).text
    names = [line for line in page.splitlines() if line.startswith("thisthat_requests_in_flight{")]
    return len(names) >= 2


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
