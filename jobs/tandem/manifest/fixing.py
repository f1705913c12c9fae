"""Takes what is wrong out of a manifest, so that the rest can still be checked and all mistakes be shown at once."""

import copy
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from tandem.manifest.explain import clean, misspelt
from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.problems import Location

_SOURCE: Final = {"name": "placeholder", "topics": ["placeholder-input"]}
_SINK: Final = {"name": "placeholder", "topic": "placeholder-output"}
_KAFKA: Final = {"bootstrapServers": "placeholder:9092"}
_PLACEHOLDERS: Final[Mapping[str, Any]] = {
    "metadata": {"name": "placeholder"},
    "spec": {"job": {"file": "placeholder.py"}, "kafka": _KAFKA, "sources": [_SOURCE], "sinks": [_SINK]},
    "job": {"file": "placeholder.py"},
    "kafka": _KAFKA,
    "sources": [_SOURCE],
    "sinks": [_SINK],
    "name": "placeholder",
    "topics": ["placeholder-input"],
    "bootstrapServers": "placeholder:9092",
    "connect": "placeholder:2181",
    "path": "/placeholder",
    "credentials": {"env": "PLACEHOLDER"},
}
_ROUNDS: Final = 10


def fixed(tree: Any, error: ValidationError) -> tuple[ReplicatedStreamJob, frozenset[Location]] | None:
    """A manifest like `tree` without its mistakes, and the locations that were changed; None if too little is left.

    A wrong value is removed, which leaves the default; where one is required, a placeholder takes its place.
    """
    tree = copy.deepcopy(tree)
    changed: set[Location] = set()
    for _ in range(_ROUNDS):
        for details in error.errors(include_url=False):
            at = clean(details["loc"])
            only_wrong_items = details["type"] == "too_short" and details["input"]
            if only_wrong_items or (details["type"] == "string_type" and _quoted(tree, at)):
                continue
            if not at or not _fix(tree, at, details["type"] == "missing"):
                return None
            changed.add(at)
            if details["type"] == "extra_forbidden" and (meant := misspelt(at)):
                changed.add(meant)
        try:
            return ReplicatedStreamJob.model_validate(tree, by_alias=True, by_name=False), frozenset(changed)
        except ValidationError as remaining:
            error = remaining
    return None


def _quoted(tree: Any, at: Location) -> bool:
    """Make a text of a number or truth value that only lacks its quotes; False if it is something else."""
    parent = _parent(tree, at)
    value = parent[at[-1]] if isinstance(parent, dict) and at[-1] in parent else None
    if not isinstance(value, bool | int | float):
        return False
    parent[at[-1]] = str(value).lower() if isinstance(value, bool) else str(value)
    return True


def _parent(tree: Any, at: Location) -> Any:
    """What contains the value at `at`; None if it was taken out before."""
    for part in at[:-1]:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def _fix(tree: Any, at: Location, missing: bool) -> bool:
    """Remove or replace the value at `at`; False if there is nothing to put in its place."""
    parent, key = _parent(tree, at), at[-1]
    if isinstance(parent, list) and isinstance(key, int):
        items = _PLACEHOLDERS.get(str(at[-2]))
        if items is None or key >= len(parent):
            return False
        parent[key] = copy.deepcopy(items[0])
    elif isinstance(parent, dict) and missing:
        if key not in _PLACEHOLDERS:
            return False
        parent[key] = copy.deepcopy(_PLACEHOLDERS[str(key)])
    elif isinstance(parent, dict):
        parent.pop(key, None)
    return True
