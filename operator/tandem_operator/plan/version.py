"""What new pods are made from, and which of those that are there are outdated.

A change of the job's configuration (what it computes) needs a new generation, through a savepoint: until that has begun,
the log accepts only processes of the old one. So nothing is rolled then, and pods that die are replaced by ones that read
the manifest that the others read. If no pod is left, as in a job that was suspended meanwhile, none is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tandem_operator.observed import Component, Observed, PodSeen
from tandem_operator.resources.manifest import config_of
from tandem_operator.resources.pods import dated, pod, template
from tandem_operator.resources.settings import Settings
from tandem_operator.status import Status


@dataclass(frozen=True, slots=True)
class Version:
    """`templates` : of pods of each component as the spec asks for them. `accepted`: the configuration that was seen to run,
    "": none was; `target`: the one that the spec asks for. `model`: the pod whose manifest new ones get, None: the spec's.
    """

    templates: tuple[tuple[Component, str], ...]
    target: str
    accepted: str
    model: PodSeen | None = None

    @property
    def is_held(self) -> bool:
        """Whether the spec asks for another configuration than the one that runs."""
        return bool(self.accepted) and self.accepted != self.target

    @property
    def is_blocked(self) -> bool:
        """Whether no pod that the log accepts can be made: no pod is left that shows how those that ran were made."""
        return self.is_held and self.model is None

    def is_outdated(self, seen: PodSeen) -> bool:
        """Whether the pod is to be replaced."""
        if self.model is not None:
            return seen.config != self.model.config
        return seen.template != dict(self.templates)[seen.component]


def version_of(observed: Observed, settings: Settings, old: Status) -> Version:
    """What is asked for, and what runs. A member that works shows that the log has accepted its configuration."""
    target = config_of(observed.job)
    working = {seen.config for seen in observed.pods if _works(seen)}
    remembered = (old.config_hash.current if old.config_hash else None) or ""
    accepted = target if target in working else min(working, default=remembered)
    templates = tuple((component, template(observed.job, settings, component)) for component in Component)
    model = None if accepted in ("", target) else _model(observed, accepted)
    return Version(templates, target, accepted, model)


def new_pod(
    observed: Observed, settings: Settings, version: Version, component: Component, index: int, name: str
) -> dict[str, Any]:
    """A pod to be created."""
    made = pod(observed.job, observed.uid, settings, component, index, name)
    model = version.model
    if model is None:
        return made
    made_from = model.template if model.component is component else ""
    return dated(made, model.manifest, model.config, made_from)


def _works(seen: PodSeen) -> bool:
    told = seen.reported
    return (
        seen.component is Component.MEMBER
        and not seen.is_gone
        and bool(seen.config)
        and told is not None
        and told.ready
        and not told.candidate
    )


def _model(observed: Observed, config: str) -> PodSeen | None:
    """The best of the pods of that configuration; one that is gone will do."""
    known = [seen for seen in observed.pods if seen.config == config and seen.manifest]
    return min(
        known, key=lambda s: (s.component is not Component.MEMBER, s.is_gone, -s.created_ms, s.name), default=None
    )
