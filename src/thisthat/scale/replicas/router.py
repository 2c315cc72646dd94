"""The part of Ray Serve that chooses replicas, by schema."""

from __future__ import annotations

from typing import Any

from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter

from thisthat.scale.replicas.affinity import Affinity, cost_of


class SchemaRouter(ConsistentHashRouter):  # type: ignore[misc]
    """Tries replicas in the order of the request's schema, which is its session in Ray's words.

    Only the order is ours; Ray's router keeps requests of one session with their own task.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._affinity = Affinity()

    async def choose_replicas(
        self, candidate_replicas: list[Any], pending_request: Any | None = None
    ) -> list[list[Any]]:
        """One replica a rank, the schema's first."""
        if pending_request is None:
            return [candidate_replicas]
        pending_request.routing_context.should_backoff = True
        by_id = {each.replica_id.unique_id: each for each in candidate_replicas}
        order = self._affinity.order(self._routing_key(pending_request), list(by_id))
        return [[by_id[each]] for each in order]

    def on_request_routed(self, pending_request: Any, replica_id: Any, result: Any) -> None:
        """Count the request as the replica's work."""
        bodies = [each for each in pending_request.args if isinstance(each, bytes)]
        self._affinity.add(replica_id.unique_id, cost_of(b"".join(bodies)))
