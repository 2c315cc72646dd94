"""Which extra installs a package that a command is missing."""

from __future__ import annotations

_EXTRAS = {
    "torch": "train",
    "transformers": "train",
    "torchao": "train",
    "peft": "train",
    "tomli": "train",
    "zstandard": "train",
    "pyarrow": "train",
    "starlette": "serve",
    "httptools": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "sqlalchemy": "audit",
    "opentelemetry": "traces",
    "matplotlib": "bench",
    "jinja2": "bench",
    "openai": "bench",
    "httpx": "bench",
    "sklearn": "bench",
}


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """The advice for an install that lacks this package; None if no extra provides it."""
    package = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(package)
    if extra is None:
        return None
    return f'this command needs {package}: pip install "thisthat[{extra}]"'
