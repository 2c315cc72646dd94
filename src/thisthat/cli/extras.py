"""Which extra installs a package that a command is missing."""

from __future__ import annotations

from thisthat.errors import to_install

_PACKAGES = {
    "train": ("torch", "transformers", "torchao", "peft", "tomli", "pyarrow"),
    "serve": ("starlette", "httptools", "uvicorn", "prometheus_client"),
    "audit": ("sqlalchemy",),
    "mcp": ("mcp", "mcp_types"),
    "traces": ("opentelemetry",),
    "bench": ("matplotlib", "openai", "httpx", "sklearn", "zstandard"),
}


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """The advice for an install that lacks this package; None if no extra provides it."""
    package = (error.name or "").partition(".")[0]
    for extra, packages in _PACKAGES.items():
        if package in packages:
            return f"this command needs {package}: {to_install(extra)}"
    return None
