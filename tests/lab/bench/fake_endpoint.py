"""An endpoint on loopback whose every response a test decides."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answering = Callable[[str, dict[str, Any], int], tuple[int, dict[str, str], str] | None]


class Fake:
    """A server on loopback whose every response the test decides."""

    def __init__(self) -> None:
        self.answering: Answering = lambda path, body, call: (200, {}, "{}")
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                with fake._lock:
                    fake._now += 1
                    fake.most_at_once = max(fake.most_at_once, fake._now)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with fake._lock:
                    fake.requests.append(body)
                    fake.headers.append(dict(self.headers))
                    call = len(fake.requests)
                answer = fake.answering(self.path, body, call)
                with fake._lock:
                    fake._now -= 1
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, text = answer
                data = text.encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def chat_body(content: Any, **more: Any) -> str:
    usage = {"prompt_tokens": 40, "completion_tokens": 5}
    choice = {"message": {"content": content}, "finish_reason": "stop", **more}
    return json.dumps({"choices": [choice], "usage": usage})
