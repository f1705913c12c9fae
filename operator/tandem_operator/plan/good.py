"""The revisions of a job that are known to work, as they are kept in the cluster; so they survive the operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tandem_operator.observed import ObjectSeen
from tandem_operator.resources.names import REVISION
from tandem_operator.resources.revisions import KIND


@dataclass(frozen=True, slots=True)
class Good:
    """A revision that has worked. `number`: the higher the later; `digest` tells it from others; `uid`: of its object."""

    name: str
    number: int
    digest: str
    content: Mapping[str, Any]
    uid: str = ""


def good_revisions(objects: Iterable[ObjectSeen]) -> tuple[Good, ...]:
    """All that are kept among a job's objects, the last one at the end."""
    kept = [thing.whole for thing in objects if thing.kind == KIND and thing.whole is not None]
    return tuple(sorted((_good(thing) for thing in kept), key=lambda good: (good.number, good.name)))


def _good(thing: Mapping[str, Any]) -> Good:
    metadata, content = thing["metadata"], (thing.get("data") or {}).get("spec", {})
    digest = metadata.get("annotations", {}).get(REVISION, "")
    return Good(metadata["name"], thing.get("revision", 0), digest, content, metadata.get("uid", ""))
