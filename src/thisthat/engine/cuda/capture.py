"""Recording a function's device work once and repeating it: CUDA graphs, or a plain call.

A recorded function must read and write fixed memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import torch

Work = Callable[[], None]


class Recorder(Protocol):
    """Turns work into something that repeats it."""

    def record(self, work: Work) -> Work:
        """Run the work to warm it up and return what repeats it."""


class NoRecorder:
    """Repeats work by calling it: for devices without graphs, and to see what graphs save."""

    def record(self, work: Work) -> Work:
        """See Recorder."""

        def repeat() -> None:
            with fixed_products(), torch.inference_mode():
                work()

        repeat()
        return repeat


class DeviceMark:
    """A point in the work asked of a device, to wait for. Where nothing runs ahead it is passed."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._event = torch.cuda.Event() if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def set(self) -> None:
        """Mark what has been asked for so far."""
        if self._event is not None:
            self._event.record(torch.cuda.current_stream(self._device))

    def wait(self) -> None:
        """Return once everything up to the mark is done; at once when there is none."""
        if self._event is not None:
            self._event.synchronize()


class OneAfterAnother:
    """Keeps work in the order it was asked for when callers use streams of their own."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._last: torch.cuda.Stream | None = None

    def take_turn(self) -> None:
        """Let the caller's stream wait for what was asked of another before."""
        if self._device.type != "cuda":
            return
        stream = torch.cuda.current_stream(self._device)
        if self._last is not None and stream != self._last:
            stream.wait_stream(self._last)
        self._last = stream


class GraphRecorder:
    """CUDA graphs that share one pool of memory, so they must not run at the same time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, work: Work) -> Work:
        """See Recorder. Raises torch.OutOfMemoryError when the work does not fit."""
        # Weights may still be on their way to where the work reads them.
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream), fixed_products():
            # Once outside a capture: kernels are compiled and loaded, libraries set up.
            work()
            self._stream.synchronize()
            graph = self._captured(work)
        self._stream.synchronize()
        # On the caller's own stream: entering another one takes longer than the launch.
        return graph.replay

    def _captured(self, work: Work) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        lost: torch.OutOfMemoryError | None = None
        try:
            with torch.cuda.graph(
                graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
            ):
                try:
                    work()
                except torch.OutOfMemoryError as error:
                    lost = error
        except RuntimeError:
            # A capture that lacked memory cannot be ended either; what it lacked is the reason.
            if lost is None:
                raise
        if lost is not None:
            raise lost
        return graph


@contextmanager
def fixed_products() -> Iterator[None]:
    """Matrix products whose sums are not split, so that their order is the same at any size.

    Only cuBLASLt can be told not to split them.
    """
    products: Any = torch.backends.cuda.matmul
    built = torch.version.cuda is not None
    library = torch.backends.cuda.preferred_blas_library()
    if built:
        torch.backends.cuda.preferred_blas_library("cublaslt")
    name = "allow_bf16_reduced_precision_reduction"
    before = (getattr(products, name), getattr(products, f"{name}_split_k", True))
    setattr(products, name, (False, False))
    try:
        yield
    finally:
        setattr(products, name, before)
        if built:
            torch.backends.cuda.preferred_blas_library(library)


def on_device(device: torch.device) -> AbstractContextManager[Any]:
    """While it is entered, kernels are launched on this device."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
