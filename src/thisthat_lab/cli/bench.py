"""`thisthat bench …`: every measurement as a command that writes JSON and prints a table."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from thisthat.cli.app import App
from thisthat.environment import DATA, ENDPOINT_KEY
from thisthat.errors import InvalidInputError
from thisthat_lab.bench.registry import REGISTRY

if TYPE_CHECKING:
    from thisthat_lab.bench.measure import Context, Measurement

app = App(
    no_args_is_help=True,
    help="Measure a system: our engines, a checkpoint folder, a baseline or an endpoint.",
)

System = Annotated[
    str,
    typer.Option(
        help="default, a folder, a Hub id; base, majority, constant, bag-of-words, letters, "
        "nearest:WHEEL; chat+URL, systemone+URL or decisions+URL."
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
        envvar=DATA,
        help="Folder with recorded_68.jsonl (cohort) and decisions_dev.jsonl.zst (injection).",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Seed of generated questions; refused where they are always the same."),
]
Model = Annotated[str, typer.Option(help="Model name to send to an endpoint.")]
Key = Annotated[
    str | None,
    typer.Option(envvar=ENDPOINT_KEY, help="Key of the endpoint.", show_envvar=True),
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
Watts = Annotated[
    float | None,
    typer.Option(help="Power for the cost of electricity.  [default: the limit of the device]"),
]
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
    seed: Seed = None,
    model: Model = "",
    key: Key = None,
    concurrency: Concurrency = 8,
    timeout: Timeout = 60.0,
    patience: Patience = 180.0,
    answer_tokens: AnswerTokens = 1024,
    token_budget: TokenBudget = None,
    record: Record = None,
    replay: Replay = None,
    watts: Watts = None,
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
    from thisthat_lab.bench.report.terminal import print_result

    if context.setting.seed is not None and not chosen.seeded:
        raise InvalidInputError("--seed", f"{chosen.name} always asks the same questions")
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


@cache
def _shared_options() -> list[inspect.Parameter]:
    # The command line is built from real annotations; `Context` is only imported for checking.
    hints = get_type_hints(_context, {**globals(), "Context": Any}, include_extras=True)
    shared = inspect.signature(_context).parameters.values()
    return [each.replace(annotation=hints[each.name]) for each in shared]


def _with_shared_options(
    act: Callable[..., None], extra: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """``act`` as a command that takes ``extra`` arguments and every shared option."""

    def command(**given: Any) -> None:
        own = {parameter.name: given.pop(parameter.name) for parameter in extra}
        act(_context(**given), **own)

    parameters = [*extra, *_shared_options()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _one(name: str) -> Callable[[Context], None]:
    def act(context: Context) -> None:
        from thisthat_lab.bench.suite import measurement

        _measure(context, measurement(name))

    return act


def _decisions(context: Context, file: Path, schema: Path | None) -> None:
    from thisthat.cli.labels import read_schema
    from thisthat_lab.bench.measurements.questions.decisions import measurement_of

    _measure(context, measurement_of(file, read_schema(schema)))


def _spatial(context: Context, file: Path | None, per_family: int | None) -> None:
    from thisthat_lab.bench.measurements.questions.spatial import measurement_of

    if per_family is not None and per_family < 1:
        raise InvalidInputError("--per-family", f"is {per_family}; at least 1 is needed")
    _measure(context, measurement_of(file, per_family))


def _wide(context: Context, file: Path, pool: bool) -> None:
    from thisthat_lab.bench.measurements.questions.wide import measurement_of

    _measure(context, measurement_of(file, pool))


def _load(context: Context, clients: int, seconds: float, overload: bool) -> None:
    from thisthat_lab.bench.measurements.speed.load import measurement_of

    _measure(context, measurement_of(clients, seconds, overload))


def _teach(context: Context, task: list[str], setfit_draws: int) -> None:
    from thisthat_lab.bench.measurements.trust.teach import Plan, measurement_of

    _measure(context, measurement_of(Plan(task, setfit_draws)))


def _guarantee(
    context: Context, labels: list[int], per_family: int | None, splits: int, confidence: float
) -> None:
    from thisthat_lab.bench.measurements.trust.guarantee import LABELS, LabelPlan, measurement_of

    _measure(context, measurement_of(LabelPlan(labels or LABELS, splits, per_family, confidence)))


def _all(context: Context) -> None:
    from rich.console import Console

    from thisthat_lab.bench.report.terminal import print_result
    from thisthat_lab.bench.suite import run_all

    console = Console()
    for path in run_all(context, _command(), lambda _, result: print_result(result, console)):
        print(path)


def _option(name: str, kind: Any, default: Any, help: str) -> inspect.Parameter:
    return _parameter(name, Annotated[kind, typer.Option(help=help)], default)


def _parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


_FILE = _parameter(
    "file",
    Annotated[Path, typer.Argument(help="JSONL, .csv, .jsonl.zst or .parquet.", exists=True)],
)
_WITH_ARGUMENTS: dict[str, tuple[Callable[..., None], list[inspect.Parameter]]] = {
    "guarantee": (
        _guarantee,
        [
            _option(
                "labels", list[int], [], "Labels to fit on; may be repeated.  [default: 500, 2000]"
            ),
            _option("per_family", int | None, None, "Questions of each family.  [default: 400]"),
            _option("splits", int, 200, "How often to draw the labels."),
            _option("confidence", float, 0.95, "Of the fitted guarantee."),
        ],
    ),
    "load": (
        _load,
        [
            _option("clients", int, 64, "Clients at once."),
            _option("seconds", float, 300.0, "How long."),
            _option("overload", bool, False, "Then twice the sustained rate, to see it shed."),
        ],
    ),
    "decisions": (
        _decisions,
        [_FILE, _option("schema", Path | None, None, "The named questions that were labelled.")],
    ),
    "spatial": (
        _spatial,
        [
            _option(
                "file",
                Path | None,
                None,
                "Questions of the same families, such as the paper's public test.jsonl.",
            ),
            _option(
                "per_family",
                int | None,
                None,
                "The first questions of each family; 150 is the paper's subset of 2,250.",
            ),
        ],
    ),
    "teach": (
        _teach,
        [
            _option("task", list[str], [], "One of the tasks; may be repeated.  [default: all]"),
            _option(
                "setfit_draws",
                int,
                5,
                "Draws, of five, that SetFit learns where it is installed; slow without a GPU.",
            ),
        ],
    ),
    "wide": (
        _wide,
        [
            _FILE,
            _option(
                "pool",
                bool,
                False,
                "Offer every row all options that rows with its question share.",
            ),
        ],
    ),
}

for _entry in REGISTRY.values():
    _act, _extra = _WITH_ARGUMENTS.get(_entry.name) or (_one(_entry.name), [])
    app.command(_entry.name, help=_entry.help)(_with_shared_options(_act, _extra))
app.command("all", help="The whole suite; run it again to resume after an interruption.")(
    _with_shared_options(_all)
)
