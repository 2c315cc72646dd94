"""What else was running when a measurement of time began."""

from __future__ import annotations

from thisthat.cpus import busy_processors

BUSY = 0.1
"""The share of their time that processors may have been busy before it has to be said."""


def busy_caveats() -> list[str]:
    """What to say of the second before now; it passes meanwhile."""
    busy = busy_processors()
    caveats = []
    if busy.ours is not None and busy.ours > BUSY:
        caveats.append(
            f"The processors of this run were busy {100 * busy.ours:.0f} % of the time when it "
            "began. That slows systems whose threads wait for each other more than others: these "
            "figures are not for quoting."
        )
    if busy.others is not None and busy.others > BUSY:
        caveats.append(
            "The machine's other processors, which share its memory, were busy "
            f"{100 * busy.others:.0f} % of the time when the run began."
        )
    return caveats
