"""`thisthat serve`: the HTTP server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thisthat.cli.options import (
    CheckpointAlone,
    CheckpointOption,
    EngineOption,
    FormOption,
    LambdaOption,
    LogOption,
    alone_or_named,
)
from thisthat.environment import ADMIN_KEYS, KEYS
from thisthat.errors import InvalidInputError, MissingExtraError


def serve(
    alone: CheckpointAlone = None,
    checkpoint: CheckpointOption = "default",
    lam: LambdaOption = None,
    also_lambda: Annotated[
        list[float] | None,
        typer.Option(help="Keep this λ loaded too, so that requests can choose it."),
    ] = None,
    also_checkpoint: Annotated[
        list[str] | None,
        typer.Option(
            help="Answer with this checkpoint too: REF by its card's name, or NAME=REF. At most 4."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8017,
    alias: Annotated[
        list[str] | None, typer.Option(help="Another model name to answer to.")
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(
            help="File with API keys, KEY or NAME SCOPES KEY a line, read again when it changes; "
            f"also from {KEYS}."
        ),
    ] = None,
    admin_keys: Annotated[
        Path | None,
        typer.Option(help=f"File with keys for /admin (reload, …); also from {ADMIN_KEYS}."),
    ] = None,
    requests_per_minute: Annotated[
        float | None, typer.Option(help="Most requests a minute for each key.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="Host that requests may name; * for any. Only local ones on loopback."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy whose x-forwarded-for is believed."),
    ] = None,
    engine: EngineOption = "auto",
    form: FormOption = None,
    device: Annotated[str, typer.Option(help="torch device.")] = "auto",
    dtype: Annotated[str, typer.Option(help="torch dtype; float8 on CUDA.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="onnx threads; one per core.")] = None,
    batch_tokens: Annotated[int, typer.Option(help="Most tokens of a batch.")] = 8192,
    bulk_tokens: Annotated[
        int, typer.Option(help="Most tokens of a batch that streams of many states may take.")
    ] = 1024,
    queue_tokens: Annotated[
        int, typer.Option(help="Most tokens accepted and not yet answered; the rest must retry.")
    ] = 8192,
    body_bytes: Annotated[int, typer.Option(help="Largest body as sent.")] = 16 << 20,
    expanded_bytes: Annotated[int, typer.Option(help="Largest body once expanded.")] = 64 << 20,
    memory_bytes: Annotated[
        int, typer.Option(help="Most memory for all requests in flight, beside the checkpoint.")
    ] = 256 << 20,
    deadline: Annotated[
        float, typer.Option(help="Seconds a request may wait to start; clients can ask for less.")
    ] = 60.0,
    drain: Annotated[float, typer.Option(help="Seconds to finish requests when stopped.")] = 60.0,
    cors_origin: Annotated[
        list[str] | None, typer.Option(help="Origin that browsers may call from.")
    ] = None,
    log_states: Annotated[
        bool, typer.Option(help="Write states into the request log, and into the decision log.")
    ] = False,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    traces: Annotated[bool, typer.Option(help="Send OpenTelemetry traces.")] = False,
    teach: Annotated[
        bool,
        typer.Option(
            "--teach", help="Let anyone who may ask also teach; otherwise it takes an admin key."
        ),
    ] = False,
    decision_log: LogOption = None,
    log_sync: Annotated[
        bool, typer.Option(help="Answer only what is on disk in the decision log; else a 503.")
    ] = False,
    drift_decisions: Annotated[
        int, typer.Option(help="Check for drift after every so many decisions under a policy.")
    ] = 500,
    on: Annotated[str | None, typer.Option(help="ray: replicas on Ray Serve answer.")] = None,
    replicas: Annotated[int | None, typer.Option(help="Ray: how many; 2 if not given.")] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray: the cluster's; without it one on this machine.")
    ] = None,
    gpus_per_replica: Annotated[float, typer.Option(help="Ray: GPUs of a replica.")] = 0.0,
    loop: Annotated[
        Path | None,
        typer.Option(help="Serve this registry's champion and try its candidates on a share."),
    ] = None,
    explore: Annotated[
        float | None,
        typer.Option(help="Escalate this share of what a policy acts on just above its cut-off."),
    ] = None,
    explore_near: Annotated[
        float, typer.Option(help="How far above the cut-off that is, in probability.")
    ] = 0.05,
) -> None:
    """Serve a checkpoint over HTTP: /v1/systemone, /v1/decisions, /v1/chat/completions, /v1/decide.

    Stops on SIGTERM once every accepted request is answered.
    """
    from thisthat.audit.log import DecisionLog
    from thisthat.audit.places import check_can_log
    from thisthat.decide.decider import Decider
    from thisthat.decide.opening import open_decider
    from thisthat.engine.select import ENGINES

    try:
        from thisthat.serve.http.keys import keys_in
        from thisthat.serve.http.run import run_server
        from thisthat.serve.logs import start_logging
        from thisthat.serve.service import Service
        from thisthat.serve.settings import Settings
        from thisthat.serve.teaching.teacher import Teacher
        from thisthat.serve.traces import Traces
    except ImportError as error:
        raise MissingExtraError("thisthat serve", "serve") from error
    checkpoint = alone_or_named("--checkpoint", alone, checkpoint, "default")
    if engine not in ENGINES:
        raise InvalidInputError("--engine", f"{engine!r} is not one of {', '.join(ENGINES)}")
    if log_level not in ("debug", "info", "warning", "error"):
        raise InvalidInputError("--log-level", f"{log_level!r} is not a log level")
    if on not in (None, "ray"):
        raise InvalidInputError("--on", f"{on!r} is not known; ray is")
    if on is None and (replicas or address or gpus_per_replica):
        raise InvalidInputError("--replicas, --address, --gpus-per-replica", "need --on ray")
    if on is not None and loop is not None:
        raise InvalidInputError("--loop", "is not served on Ray: replicas do not share a trial")
    registry = None
    if loop is not None:
        from thisthat.loop.registry import Registry
        from thisthat.serve.trials import champion_of

        for flag, given in (
            ("--checkpoint", checkpoint != "default"),
            ("--lambda", lam is not None),
            ("--also-lambda", bool(also_lambda)),
            ("--also-checkpoint", bool(also_checkpoint)),
        ):
            if given:
                raise InvalidInputError(flag, "cannot be chosen: --loop names the champion")
        registry = Registry(loop)
        checkpoint, champion = champion_of(registry)
        lam = champion.lam
    for flag, given in (("--loop", loop is not None), ("--explore", explore is not None)):
        if given and not decision_log:
            raise InvalidInputError(flag, "needs --decision-log")
    settings = Settings(
        host=host,
        port=port,
        checkpoint=checkpoint,
        lam=lam,
        also_lambdas=tuple(also_lambda or ()),
        also_checkpoints=tuple(also_checkpoint or ()),
        aliases=tuple(alias or ()),
        keys=keys_in(KEYS),
        admin_keys=keys_in(ADMIN_KEYS),
        keys_file=keys,
        admin_keys_file=admin_keys,
        allowed_hosts=tuple(allowed_host or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
        memory_bytes=memory_bytes,
        requests_per_minute=requests_per_minute,
        batch_tokens=batch_tokens,
        bulk_tokens=bulk_tokens,
        queue_tokens=queue_tokens,
        body_bytes=body_bytes,
        expanded_bytes=expanded_bytes,
        deadline_seconds=deadline,
        drain_seconds=drain,
        cors_origins=tuple(cors_origin or ()),
        log_states=log_states,
        drift_decisions=drift_decisions,
        explore=explore,
        explore_near=explore_near,
        traces=traces,
        teach=teach,
    )

    how: dict[str, Any] = {
        "engine": engine,
        "form": form,
        "device": device,
        "dtype": dtype,
        "threads": threads,
    }
    if log_sync and not decision_log:
        raise InvalidInputError("--log-sync", "needs --decision-log")
    if decision_log and address is None:  # Else it lies on the cluster's machines.
        check_can_log(decision_log)
    if on is not None:
        from thisthat.scale.replicas.replica import ReplicaPlan
        from thisthat.scale.replicas.run import run_replicas

        plan = ReplicaPlan(settings, how, decision_log, log_sync, log_level)
        run_replicas(plan, replicas or 2, gpus_per_replica, address)
        return

    def opened(ref: str, chosen: float | None) -> Decider:
        return open_decider(ref, lam=chosen, **how)

    start_logging(level=log_level)
    record = None
    if decision_log:
        record = DecisionLog(decision_log, keep_states=log_states, required=log_sync)
    run_server(Service(settings, opened, Traces.configured(traces), record, registry, Teacher(how)))
