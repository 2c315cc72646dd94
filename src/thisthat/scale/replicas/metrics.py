"""One page of metrics for several servers: every sample says whose it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector


def joined(pages: Mapping[str, bytes]) -> bytes:
    """The pages as one, with a label ``replica``."""
    registry = CollectorRegistry()
    registry.register(_Joined(pages))
    return generate_latest(registry)


class _Joined(Collector):
    def __init__(self, pages: Mapping[str, bytes]) -> None:
        self._pages = pages

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for replica, page in sorted(self._pages.items()):
            for found in text_string_to_metric_families(page.decode()):
                family = families.setdefault(
                    found.name, Metric(found.name, found.documentation, found.type)
                )
                for sample in found.samples:
                    labels = {**sample.labels, "replica": replica}
                    family.add_sample(sample.name, labels, sample.value)
        return iter(families.values())
