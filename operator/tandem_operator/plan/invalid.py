"""A spec that passed the API server's checks but not ours. What runs goes on as it is; the status says what to mend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from tandem.manifest import ManifestError
from tandem_operator.actions import Action, Emit, SetStatus
from tandem_operator.plan.conditions import not_progressing, with_progressing
from tandem_operator.plan.status import as_object
from tandem_operator.status import Status

_REASON: Final = "InvalidSpec"
_BUT: Final = "The job cannot be deleted with its topics and snapshots until this is mended: "


def refuse(body: Mapping[str, Any], error: ManifestError, now_ms: int) -> tuple[Action, ...]:
    """What a pass does then: nothing, if the status says so already."""
    generation = body["metadata"].get("generation", 0)
    try:
        old = Status.model_validate(body.get("status", {}))
    except ValidationError:
        old = Status()
    message = f"{_BUT if 'deletionTimestamp' in body['metadata'] else ''}{error}"
    condition = not_progressing(old, _REASON, message[:4096], generation, now_ms)
    if condition in old.conditions:
        return ()
    named = old.model_copy(update={"phase": old.phase or "Failed", "observed_generation": generation})
    return (Emit("Warning", _REASON, condition.message), SetStatus(as_object(with_progressing(named, condition))))
