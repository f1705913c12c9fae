"""What a pass says and leaves undone when the API server refused something of what the plan asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tandem_operator.actions import (
    Action,
    Apply,
    Ask,
    Create,
    CreatePod,
    Delete,
    DeletePod,
    Emit,
    LabelPod,
    SetFinalizers,
    SetStatus,
    Switch,
    TryPod,
)
from tandem_operator.observed import Observed
from tandem_operator.plan.conditions import not_progressing, with_progressing
from tandem_operator.plan.events import events_of
from tandem_operator.plan.status import as_object, old_status, settled
from tandem_operator.resources.accounts import driver_role
from tandem_operator.resources.names import MANIFEST
from tandem_operator.resources.settings import Settings
from tandem_operator.status import Status

REFUSED: Final = "ApiRefused"
UNAVAILABLE: Final = "ApiUnavailable"
_RIGHTS: Final = ("Role", "RoleBinding")
_NEEDED: Final = ("ConfigMap", "ServiceAccount", *_RIGHTS)
"""Kinds that pods cannot do without."""
_GRANTED: Final = "The operator may grant rights on executors if its chart is installed with executors.enabled: true"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An action that was refused, and why. `passing`: it was put off, or failed in the server, and has been for a while."""

    action: Action
    said: str
    passing: bool = False

    @property
    def reason(self) -> str:
        """In one word."""
        return UNAVAILABLE if self.passing else REFUSED

    @property
    def message(self) -> str:
        """In words."""
        what = "has failed several times" if self.passing else "was refused"
        words = [f"{_deed(self.action)} {what}: {self.said.rstrip('. ') or 'no reason given'}", "It will be retried"]
        if isinstance(self.action, Apply) and self.action.object["kind"] in _RIGHTS:
            words.append(_GRANTED)
        return ". ".join(words)


def words_of(
    observed: Observed, settings: Settings, actions: Collection[Action], refusal: Refusal
) -> tuple[Action, ...]:
    """Instead of the plan's own events and status: those of a job that does not get on. None if that is known already."""
    old = old_status(observed)
    planned = next((Status.model_validate(dict(one.status)) for one in actions if isinstance(one, SetStatus)), old)
    condition = not_progressing(old, refusal.reason, refusal.message[:4096], observed.generation, observed.now_ms)
    status = settled(with_progressing(planned, condition), old, settings)
    kept = only_now(actions)
    if status == old:
        return kept
    is_first_of_all = not any(known.type == "Progressing" for known in old.conditions)
    first = (Emit("Warning", refusal.reason, condition.message),) if is_first_of_all else ()
    return (*kept, *first, *events_of(old, status), SetStatus(as_object(status)))


def only_now(actions: Collection[Action]) -> tuple[Emit, ...]:
    """Events that no later pass would tell: what they tell of is removed by then. What else there is to say can wait."""
    return tuple(one for one in actions if isinstance(one, Emit) and one.once)


def waits(action: Action, refused: Collection[Action], suspended: bool) -> bool:
    """Whether an action has to wait because of those that were refused before it.

    No pod is made without what it reads: it might find somebody else's. And none has to leave whose successor would lack it,
    or would be refused itself.
    """
    is_refused = any(isinstance(one, TryPod) for one in refused)
    lacking = {_name(one.object) for one in refused if isinstance(one, Apply) and one.object["kind"] in _NEEDED}
    match action:
        case CreatePod(pod):
            return bool(lacking & _needs(pod))
        case DeletePod():
            return (bool(lacking) or is_refused) and action.grace_s is None and not suspended
        case Switch():
            return bool(lacking) or is_refused
    return False


def _needs(pod: Mapping[str, Any]) -> set[tuple[str, str]]:
    manifest = pod["metadata"].get("annotations", {}).get(MANIFEST, "")
    account = pod["spec"].get("serviceAccountName", "")
    rights = _RIGHTS if pod["spec"].get("automountServiceAccountToken") else ()
    return {("ConfigMap", manifest), ("ServiceAccount", account), *((kind, driver_role(account)) for kind in rights)}


def _name(thing: Mapping[str, Any]) -> tuple[str, str]:
    return thing["kind"], thing["metadata"]["name"]


def _deed(action: Action) -> str:
    match action:
        case CreatePod(pod):
            return f"Creating pod {pod['metadata']['name']}"
        case TryPod():
            return "A pod of the job as it is specified now"
        case DeletePod():
            return f"Deleting pod {action.name}"
        case LabelPod():
            return f"Labelling pod {action.name}"
        case Apply(thing):
            return f"Applying {' '.join(_name(thing))}"
        case Create(thing):
            return f"Creating {' '.join(_name(thing))}"
        case Delete():
            return f"Deleting {action.kind} {action.name}"
        case Ask():
            return f"Handing a request on to {action.name}"
        case Switch():
            return f"The task by which {action.leaves} gives up its slot"
        case SetFinalizers():
            return "Setting the job's finalizers"
    return type(action).__name__
