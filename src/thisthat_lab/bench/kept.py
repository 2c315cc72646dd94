"""Arrays that cost minutes to make, kept beside the results."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from thisthat.files import write_atomically


def kept(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Arrays of a file, made and written where there is none."""
    if not path.is_file():
        content = io.BytesIO()
        np.savez(content, **make())
        write_atomically(path, content.getvalue())
    with np.load(path) as file:
        return {key: file[key] for key in file.files}
