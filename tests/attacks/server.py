"""``python -m tests.attacks.server LOG [sync]``: default limits, 2 ms a row."""

import sys
import time
from collections.abc import Sequence

from tests.path_engine import PathEngine, path_decider
from thisthat.audit.log import DecisionLog
from thisthat.decide.decider import Decider
from thisthat.engine.rows import Row, RowResult
from thisthat.environment import KEYS
from thisthat.serve.http.keys import keys_in
from thisthat.serve.http.run import run_server
from thisthat.serve.logs import start_logging
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings


class SlowEngine(PathEngine):
    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self._seen.clear()
        time.sleep(0.002 * len(rows))
        return super().run(rows)


def opened(ref: str, lam: float | None) -> Decider:
    decider = path_decider()
    decider.engine = SlowEngine()
    return decider


if __name__ == "__main__":
    start_logging()
    log = DecisionLog(sys.argv[1], required="sync" in sys.argv) if sys.argv[1] else None
    run_server(Service(Settings(port=0, keys=keys_in(KEYS)), opened, log=log))
