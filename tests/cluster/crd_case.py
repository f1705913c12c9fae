"""What a trial of a rule is, and what trials are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cluster.crd_base import Overrides, manifest


@dataclass(frozen=True)
class Case:
    """A rule by its id, what it lets pass and what not, and a part of what the API server says then.

    A rule about changes is tried on an object that was made from `old`; None: the rule is tried on creation.
    """

    rule: str
    accepted: Overrides
    rejected: Overrides
    fragment: str
    old: Overrides | None = field(default=None)

    @property
    def good(self) -> dict[str, Any]:
        """The manifest that is accepted."""
        return manifest(self.accepted)

    @property
    def bad(self) -> dict[str, Any]:
        """The manifest that is rejected."""
        return manifest(self.rejected)

    @property
    def before(self) -> dict[str, Any] | None:
        """The object that is there before the change."""
        return None if self.old is None else manifest(self.old)


SECRET: Final = {"secretKeyRef": {"name": "login", "key": "password"}}
TWO_PLACES: Final = {"env": "PASSWORD", **SECRET}
LOGIN: Final = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "tandem"}


def properties(properties: Mapping[str, str], secrets: Mapping[str, Any] | None = None) -> Overrides:
    """Properties of librdkafka, and those that are secret."""
    return {"spec.kafka.properties": properties, "spec.kafka.secretProperties": secrets or {}}


def sinks(*sinks: Mapping[str, Any]) -> Overrides:
    """Other sinks than the good manifest's."""
    return {"spec.sinks": [{"name": f"sink_{index}", **sink} for index, sink in enumerate(sinks)]}


def mode(mode: str, delivery: str = "atLeastOnce") -> Overrides:
    """A mode of ordering, and a delivery."""
    return {"spec.ordering.mode": mode, "spec.delivery": delivery}
