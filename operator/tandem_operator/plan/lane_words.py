"""What the condition Progressing says while the number of lanes changes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tandem_operator.status import ConditionStatus, LaneChange, LaneStage

_STAGES: Final[Mapping[LaneStage, str]] = {
    "Checking": "it is checked whether it can be done; the job runs",
    "Stopping": "the lanes stop",
    "Dividing": "the states of the lanes are divided, and their logs written",
    "Beginning": "the new lanes start",
}


def changing(change: LaneChange) -> tuple[ConditionStatus, str, str]:
    """Its status, reason and message."""
    if change.stage == "Refused":
        return "False", "LanesNotChanged", change.message
    stage = _STAGES[change.stage] + (f"; {change.message}" if change.message else "")
    return "True", "LanesChange", f"The number of lanes changes from {change.before} to {change.to}: {stage}"
