"""Starting the replicas on Ray Serve: from the command line, or from a deployment file."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.scale.ray import Room, WorkerError, connect, machines
from thisthat.scale.replicas.conductor import Conductor
from thisthat.scale.replicas.front import Front
from thisthat.scale.replicas.replica import Replica, ReplicaPlan
from thisthat.serve.logs import log, start_logging
from thisthat.serve.settings import Settings

NAME = "thisthat"
_ROUTER = "thisthat.scale.replicas.router.SchemaRouter"
_HEALTH_SECONDS = 1.0
_STARTS = 3
_OPENING = ("engine", "form", "device", "dtype", "threads")
_LOGS = ("decision_log", "log_sync", "log_level")
_PATHS = ("keys_file", "admin_keys_file")
_REPLICAS = ("replicas", "fronts", "cpus_per_replica", "gpus_per_replica")


def application(
    plan: ReplicaPlan, *, replicas: int, cpus: int = 1, gpus: float = 0.0, fronts: int = 1
) -> Any:
    """The Ray Serve application: ``fronts``, ``replicas`` of the server, one conductor."""
    from ray import serve
    from ray.serve.config import RequestRouterConfig

    settings = plan.settings
    waits = {
        "graceful_shutdown_timeout_s": settings.drain_seconds,
        "graceful_shutdown_wait_loop_s": 0.1,
        "health_check_period_s": _HEALTH_SECONDS,
        "max_ongoing_requests": settings.connections,
        "max_constructor_retry_count": _STARTS,
    }
    small: Any = {"ray_actor_options": {"num_cpus": 0}, **waits}
    conductor = serve.deployment(Conductor, name="Conductor").options(num_replicas=1, **small)
    replica = serve.deployment(Replica, name="Replica").options(
        num_replicas=replicas,
        ray_actor_options={"num_cpus": cpus, "num_gpus": gpus},
        request_router_config=RequestRouterConfig(request_router_class=_ROUTER),
        **waits,
    )
    front = serve.deployment(Front, name="Front").options(num_replicas=fronts, **small)
    told = conductor.bind(settings.checkpoint, settings.lam)
    return front.bind(settings, replica.bind(plan, told))


def build(args: Mapping[str, Any]) -> Any:
    """The application of a deployment file: names of settings and what ``open_decider`` takes.

    Raises InvalidInputError for a name that is not known.
    """
    names = {each.name for each in fields(Settings)}
    known = {*names, *_OPENING, *_REPLICAS, *_LOGS}
    for name in args:
        if name not in known:
            raise InvalidInputError(name, f"is not known; known are {', '.join(sorted(known))}")
    given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in args.items()}
    given |= {name: Path(given[name]) for name in _PATHS if name in given}
    cpus = given.pop("cpus_per_replica", 1)
    opening = {"threads": cpus, **{name: given.pop(name) for name in _OPENING if name in given}}
    logs = {name: given.pop(name) for name in _LOGS if name in given}
    size = {"replicas": given.pop("replicas", 2), "fronts": given.pop("fronts", 1), "cpus": cpus}
    gpus = given.pop("gpus_per_replica", 0.0)
    return application(ReplicaPlan(Settings(**given), opening, **logs), gpus=gpus, **size)


def run_replicas(
    plan: ReplicaPlan, replicas: int, gpus: float = 0.0, address: str | None = None
) -> None:
    """Serve until told to stop; then answer what was accepted. Raises InvalidInputError.

    CPUs are shared equally. Raises MissingExtraError without Ray, WorkerError for replicas that do
    not start.
    """
    ray = connect(address)
    try:
        from ray import serve
        from ray.serve.config import HTTPOptions, ProxyLocation
    except ImportError as error:
        raise MissingExtraError("thisthat serve --on ray", "ray") from error
    settings = plan.settings
    if not settings.port:
        raise InvalidInputError("port", "is 0; replicas need one that all machines have free")
    nodes = machines(ray)
    total = int(sum(node.get("CPU", 0.0) for node in nodes))
    cpus = max(1, total // max(1, replicas))
    Room(replicas, cpus, gpus).on(nodes)
    if not gpus and plan.opening.get("threads") is None:
        plan = replace(plan, opening={**plan.opening, "threads": cpus})
    if plan.decision_log is not None and "://" not in plan.decision_log:
        plan = replace(plan, decision_log=str(Path(plan.decision_log).resolve()))
    start_logging(level=plan.log_level)
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    http = HTTPOptions(host=settings.host, port=settings.port, location=ProxyLocation.EveryNode)
    serve.start(http_options=http)
    try:
        app = application(plan, replicas=replicas, cpus=cpus, gpus=gpus)
        try:
            serve.run(app, name=NAME, route_prefix="/")
        except RuntimeError as error:
            raise WorkerError(f"the replicas did not start: {_reason(serve, error)}") from None
        log("ready", address=f"http://{settings.host}:{settings.port}", replicas=replicas)
        stop.wait()
        log("draining")
    finally:
        serve.delete(NAME)
        if not serve.status().applications:  # Others may have theirs on the same cluster.
            serve.shutdown()


def _reason(serve: Any, error: RuntimeError) -> str:
    """The last line of what a replica said."""
    found = serve.status().applications.get(NAME)
    told = [each.message for each in found.deployments.values()] if found is not None else []
    lines = "\n".join([str(error), *told]).strip().splitlines()
    return next((line.strip() for line in reversed(lines) if "Error: " in line), lines[-1])
