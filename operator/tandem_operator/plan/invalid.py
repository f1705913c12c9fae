"""A spec that passed the API server's checks but not ours. What runs goes on as it is; the status says what to mend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from tandem.manifest import ManifestError
from tandem_operator.actions import Action, Emit, SetStatus
from tandem_operator.plan.status import as_object
from tandem_operator.plan.times import written
from tandem_operator.status import Condition, Status

_REASON: Final = "InvalidSpec"


def refuse(body: Mapping[str, Any], error: ManifestError, now_ms: int) -> tuple[Action, ...]:
    """What a pass does then: nothing, if the status says so already."""
    generation = body["metadata"].get("generation", 0)
    try:
        old = Status.model_validate(body.get("status", {}))
    except ValidationError:
        old = Status()
    before = next((condition for condition in old.conditions if condition.type == "Progressing"), None)
    message = str(error)[:4096]
    if before is not None and (before.reason, before.message, before.observed_generation) == (
        _REASON,
        message,
        generation,
    ):
        return ()
    changed = before is None or before.status != "False"
    condition = Condition(
        type="Progressing",
        status="False",
        reason=_REASON,
        message=message,
        last_transition_time=written(now_ms) if before is None or changed else before.last_transition_time,
        observed_generation=generation,
    )
    conditions = tuple(one for one in old.conditions if one.type != "Progressing")
    status = old.model_copy(
        update={
            "phase": old.phase or "Failed",
            "observed_generation": generation,
            "conditions": (*conditions, condition),
        }
    )
    return (Emit("Warning", _REASON, message), SetStatus(as_object(status)))
