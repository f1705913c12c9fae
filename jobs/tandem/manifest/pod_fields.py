"""Names in a pod's spec that Kubernetes does not know; `pod_fields.txt` has those that it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Final

CONTAINER: Final = "V1Container"
_SPEC: Final = "V1PodSpec"
_LIKE: Final = 0.8


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A name, and the one of Kubernetes' that it was probably meant to be; None: nothing is like it."""

    place: str
    meant: str | None


def unknown_fields(part: object, kind: str = _SPEC, at: str = "") -> Iterator[UnknownField]:
    """The fields of `part` that the type `kind` of Kubernetes' API has not got."""
    if isinstance(part, list):
        for one in part:
            yield from unknown_fields(one, kind, at)
        return
    if not isinstance(part, Mapping):
        return  # of values Kubernetes is the judge
    known = _known()[kind]
    for name, value in part.items():
        place = f"{at}.{name}" if at else str(name)
        if name not in known:
            yield UnknownField(place, _meant(str(name), known))
        elif known[name]:
            yield from unknown_fields(value, known[name], place)


def _meant(name: str, known: Mapping[str, Any]) -> str | None:
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, 1, _LIKE)
    return by_lower[near[0]] if near else None


@cache
def _known() -> Mapping[str, Mapping[str, str]]:
    """Type → its fields → the type of what is in them, "" if that has no fields."""
    lines = (line.split() for line in files(__package__).joinpath("pod_fields.txt").read_text().splitlines())
    return {kind: {name: of for name, _, of in (one.partition("=") for one in fields)} for kind, *fields in lines}
