"""`thisthat bench …`: every measurement as a command that writes JSON and prints a table."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from thisthat.errors import InvalidInputError

if TYPE_CHECKING:
    from thisthat_lab.bench.measure import Context, Measurement

app = typer.Typer(
    no_args_is_help=True,
    help="Measure a system: our engines, a checkpoint folder, a baseline or an endpoint.",
)

HELP = {
    "cohort": "68 recorded questions that a hosted service answered too (needs --data).",
    "spatial": "The spatial benchmark: fifteen families, exactly balanced.",
    "surfaces": "The same windows as ASCII, JSON and prose.",
    "heldout": "Families and simulator sets that no training saw.",
    "actuator": "A noisy actuator: probabilities against the computed ones.",
    "parity": "One distance asked as a band and as a parity.",
    "ladder": "Whole map against window as the world grows.",
    "branch": "Branch-shaped decisions and multi-step arithmetic.",
    "order": "Do answers change with the order of the options?",
    "injection": "How often an instruction planted in a state moves the decision.",
    "evidence": "Is the part an answer rests on the one with the deciding fact?",
    "lambda": "The headline numbers from λ = 0 to 1.",
    "latency": "Milliseconds per decision, alone and in turns with other ways to it.",
    "cost": "What one pass costs, and how time grows with states, questions and options.",
    "http": "What HTTP adds to the library call, side by side.",
    "audit": "What the decision log costs: with and without it in turns.",
    "restart": "Seconds until a server that was killed under load is ready again.",
    "fidelity": "How far the numeric form's answers are from float32's.",
    "gpu": "CUDA: fused kernels in graphs beside no graphs, transformers and float8.",
    "training": "CUDA: tokens per second of the trainer's own steps.",
    "knowledge": "Linear probes: what the checkpoint still knows beside its base (needs --data).",
    "written": "Written tasks that no training saw (needs --data).",
}

System = Annotated[
    str,
    typer.Option(
        help="default, a folder, a Hub id; base, majority, constant, bag-of-words, letters; "
        "chat+URL, systemone+URL or decisions+URL."
    ),
]
Lambda = Annotated[float | None, typer.Option("--lambda", help="How much of the delta, 0 to 1.")]
Engine = Annotated[str, typer.Option(help="auto, native, onnx or torch.")]
Form = Annotated[str | None, typer.Option(help="onnx numeric form: int8 or float32.")]
Dtype = Annotated[
    str, typer.Option(help="torch numeric form: auto, float32, bfloat16, float16 or float8.")
]
Quick = Annotated[bool, typer.Option(help="A fixed fair subset, 60 questions per family.")]
Out = Annotated[Path, typer.Option(help="Folder for result files and journals.")]
Data = Annotated[
    Path | None,
    typer.Option(
        envvar="THISTHAT_DATA",
        help="Folder with recorded_68.jsonl (cohort) and decisions_dev.jsonl.zst (injection).",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of generated questions.")]
Model = Annotated[str, typer.Option(help="Model name to send to an endpoint.")]
Key = Annotated[
    str | None,
    typer.Option(envvar="THISTHAT_ENDPOINT_KEY", help="Key of the endpoint.", show_envvar=True),
]
Concurrency = Annotated[int, typer.Option(help="Requests in flight at once.")]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for one response.")]
Patience = Annotated[float, typer.Option(help="Seconds to keep trying one question.")]
AnswerTokens = Annotated[int, typer.Option(help="Most tokens an endpoint may write per answer.")]
TokenBudget = Annotated[int | None, typer.Option(help="Most tokens of the whole run.")]
Record = Annotated[
    Path | None, typer.Option(help="Where exchanges are kept; default: beside the result.")
]
Replay = Annotated[Path | None, typer.Option(help="Answer from this recording, no network.")]
Watts = Annotated[float, typer.Option(help="Power for the cost of electricity.")]
KilowattHour = Annotated[float, typer.Option("--kwh-price", help="Dollars per kWh.")]
Prices = Annotated[
    Path | None,
    typer.Option(help='JSON {"model": {"input", "output", "source"}}, $ per million tokens.'),
]


def _context(
    system: System = "default",
    lam: Lambda = None,
    engine: Engine = "auto",
    form: Form = None,
    dtype: Dtype = "auto",
    quick: Quick = False,
    out: Out = Path("results"),
    data: Data = None,
    seed: Seed = 2026,
    model: Model = "",
    key: Key = None,
    concurrency: Concurrency = 8,
    timeout: Timeout = 60.0,
    patience: Patience = 180.0,
    answer_tokens: AnswerTokens = 1024,
    token_budget: TokenBudget = None,
    record: Record = None,
    replay: Replay = None,
    watts: Watts = 80.0,
    kwh_price: KilowattHour = 0.30,
    prices: Prices = None,
) -> Context:
    """The setting that the shared options describe."""
    from thisthat.engine.select import ENGINES
    from thisthat_lab.bench import anchors
    from thisthat_lab.bench.measure import Context, Setting
    from thisthat_lab.bench.systems.opening import ENDPOINTS
    from thisthat_lab.bench.systems.protocol import SystemOptions

    if engine not in ENGINES:
        raise InvalidInputError("--engine", f"{engine!r} is not one of {', '.join(ENGINES)}")
    if record is None and replay is None and system.partition("+")[0] in ENDPOINTS:
        record = out / "exchanges.jsonl"
    options = SystemOptions(
        lam=lam,
        engine=engine,
        form=form,
        dtype=dtype,
        model=model,
        key=key,
        concurrency=concurrency,
        timeout=timeout,
        patience=patience,
        answer_tokens=answer_tokens,
        token_budget=token_budget,
        record=record,
        replay=replay,
    )
    setting = Setting(
        system=system,
        options=options,
        quick=quick,
        out=out,
        data=data,
        seed=seed,
        watts=watts,
        dollars_per_kwh=kwh_price,
        prices=anchors.prices() if prices is None else anchors.prices() | _read_prices(prices),
    )
    return Context(setting)


def _read_prices(path: Path) -> dict[str, Any]:
    import json

    from thisthat_lab.bench.anchors import Price

    try:
        return {name: Price(**entry) for name, entry in json.loads(path.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InvalidInputError("--prices", f"{path} is not a price list: {error}") from None


def _measure(context: Context, chosen: Measurement) -> None:
    from rich.console import Console

    from thisthat_lab.bench.measure import run_measurement
    from thisthat_lab.bench.report.table import print_result

    path, result = run_measurement(chosen, context, _command())
    context.finish()
    print_result(result, Console())
    print(path)


def _command() -> list[str]:
    """The command line as typed, a key left out."""
    words = ["thisthat", *sys.argv[1:]]
    shown: list[str] = []
    for place, word in enumerate(words):
        if word.startswith("--key="):
            shown.append("--key=…")
        else:
            shown.append("…" if place and words[place - 1] == "--key" else word)
    return shown


def _with_shared_options(
    act: Callable[..., None], extra: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """``act`` as a command that takes ``extra`` arguments and every shared option."""

    def command(**given: Any) -> None:
        own = {parameter.name: given.pop(parameter.name) for parameter in extra}
        act(_context(**given), **own)

    # The command line is built from real annotations; `Context` is only imported for checking.
    hints = get_type_hints(_context, {**globals(), "Context": Any}, include_extras=True)
    shared = inspect.signature(_context).parameters.values()
    parameters = [*extra, *(each.replace(annotation=hints[each.name]) for each in shared)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _one(name: str) -> Callable[[Context], None]:
    def act(context: Context) -> None:
        from thisthat_lab.bench.suite import measurement

        _measure(context, measurement(name))

    return act


def _decisions(context: Context, file: Path) -> None:
    from thisthat_lab.bench.measurements.decisions import measurement_of

    _measure(context, measurement_of(file))


def _all(context: Context) -> None:
    from rich.console import Console

    from thisthat_lab.bench.report.table import print_result
    from thisthat_lab.bench.suite import run_all

    console = Console()
    for path in run_all(context, _command(), lambda _, result: print_result(result, console)):
        print(path)


for _name, _help in HELP.items():
    app.command(_name, help=_help)(_with_shared_options(_one(_name)))

_FILE = inspect.Parameter(
    "file",
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    annotation=Annotated[Path, typer.Argument(help="JSONL, .jsonl.zst or .parquet.", exists=True)],
)


def _wide(context: Context, file: Path, pool: bool) -> None:
    from thisthat_lab.bench.measurements.wide import measurement_of

    _measure(context, measurement_of(file, pool))


_POOL = inspect.Parameter(
    "pool",
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    default=False,
    annotation=Annotated[
        bool, typer.Option(help="Offer every row all options that rows with its question share.")
    ],
)


def _load(context: Context, clients: int, seconds: float, overload: bool) -> None:
    from thisthat_lab.bench.measurements.load import measurement_of

    _measure(context, measurement_of(clients, seconds, overload))


_LOAD = [
    inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation
    )
    for name, default, annotation in (
        ("clients", 64, Annotated[int, typer.Option(help="Clients at once.")]),
        ("seconds", 300.0, Annotated[float, typer.Option(help="How long.")]),
        (
            "overload",
            False,
            Annotated[bool, typer.Option(help="Then twice the sustained rate, to see it shed.")],
        ),
    )
]


def _guarantee(
    context: Context, labels: list[int], per_family: int | None, splits: int, confidence: float
) -> None:
    from thisthat_lab.bench.measurements.guarantee import LABELS, Plan, measurement_of

    _measure(context, measurement_of(Plan(labels or LABELS, splits, per_family, confidence)))


_GUARANTEE = [
    inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation
    )
    for name, default, annotation in (
        (
            "labels",
            [],
            Annotated[
                list[int],
                typer.Option(help="Labels to fit on; may be repeated.  [default: 500, 2000]"),
            ],
        ),
        (
            "per_family",
            None,
            Annotated[int | None, typer.Option(help="Questions of each family.  [default: 400]")],
        ),
        ("splits", 200, Annotated[int, typer.Option(help="How often to draw the labels.")]),
        ("confidence", 0.95, Annotated[float, typer.Option(help="Of the fitted guarantee.")]),
    )
]
app.command("guarantee", help="Do fitted thresholds keep their targets on other rows?")(
    _with_shared_options(_guarantee, _GUARANTEE)
)
app.command("load", help="Many clients at once: is every answer there, and the right one?")(
    _with_shared_options(_load, _LOAD)
)
app.command("decisions", help="Any file of decisions with known answers.")(
    _with_shared_options(_decisions, [_FILE])
)
app.command("wide", help="One wide softmax against a tournament, on choices over 32 options.")(
    _with_shared_options(_wide, [_FILE, _POOL])
)
app.command("all", help="The whole suite; run it again to resume after an interruption.")(
    _with_shared_options(_all)
)
