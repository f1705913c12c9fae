"""All objects that a job has beside its pods."""

from __future__ import annotations

from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.resources.accounts import accounts
from tandem_operator.resources.disruption import disruption_budgets
from tandem_operator.resources.manifest import config_map
from tandem_operator.resources.names import stamped
from tandem_operator.resources.network import network_policy
from tandem_operator.resources.services import metrics_service
from tandem_operator.resources.settings import Settings


def wanted_objects(
    job: ReplicatedStreamJob, uid: str, settings: Settings, fallback: ReplicatedStreamJob | None = None
) -> tuple[dict[str, Any], ...]:
    """In the order in which they are to be applied, each with the hash of its content in an annotation.

    `fallback` : another version of the job, whose pods are to find what they need, too.
    """
    things = [
        config_map(job, uid),
        *accounts(job, uid),
        metrics_service(job, uid),
        *disruption_budgets(job, uid),
        network_policy(job, uid, settings),
    ]
    if fallback is not None:
        names = {(thing["kind"], thing["metadata"]["name"]) for thing in things}
        needed = [config_map(fallback, uid), *accounts(fallback, uid)]
        things += [thing for thing in needed if (thing["kind"], thing["metadata"]["name"]) not in names]
    return tuple(stamped(thing) for thing in things)
