"""What a core wants done: values that the runtime, or the simulation, carries out in their order."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.protocol.values import Proposal


@dataclass(frozen=True, slots=True)
class Append:
    """Append this to the ordering log, without waiting: the log itself says what became of it."""

    proposal: Proposal
