"""Pydantic's errors → what the user did, and what to write instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tandem.manifest.problems import QUOTE_IT, REFUSAL, Issue, Location, dotted
from tandem.manifest.vocabulary import homes, keys_at, nearest

EXAMPLES: Final[Mapping[str, str]] = {
    "metadata": "metadata: {name: flights}",
    "spec": "spec: {job: …, kafka: …, sources: …, sinks: …}",
    "job": "job: {file: job.py, function: flights}",
    "kafka": "kafka: {bootstrapServers: localhost:9092}",
    "sources": "sources: [{name: flights, topics: [flights]}]",
    "sinks": "sinks: [{name: delays, topic: delays}]",
    "name": "name: flights",
    "topics": "topics: [flights]",
    "bootstrapServers": "bootstrapServers: localhost:9092",
    "connect": "connect: localhost:2181",
    "path": "path: /data/out",
    "snapshots": "snapshots: {store: s3://bucket/snapshots}",
    "store": "store: s3://bucket/snapshots",
    "credentials": "credentials: {env: ZOOKEEPER_CREDENTIALS}",
    "schema": "schema: carrier STRING, delay DOUBLE",
}
_ONE_TEXT: Final = "Write one text, if need be in quotes"

Explanation = tuple[str, str]
"""Message and remedy."""


@dataclass(frozen=True)
class _Mistake:
    at: Location
    value: Any
    context: Mapping[str, Any]


def explain(error: ValidationError) -> list[Issue]:
    """What the errors of pydantic mean in the manifest: at most one issue for each value."""
    every = error.errors(include_url=False)
    unknown = [clean(details["loc"]) for details in every if details["type"] == "extra_forbidden"]
    meant = {misspelt(at) for at in unknown}
    issues: dict[Location, Issue] = {}
    for details in every:
        at = clean(details["loc"])
        said_already = details["type"] == "missing" and at in meant
        only_wrong_items = details["type"] == "too_short" and details["input"]
        if not said_already and not only_wrong_items:
            issues.setdefault(at, _explained(at, details))
    return list(issues.values())


def _explained(at: Location, details: ErrorDetails) -> Issue:
    context, value = details.get("ctx", {}), details["input"]
    if details["type"] == REFUSAL:
        return Issue(at, context["message"], context["remedy"])
    if details["type"] == "extra_forbidden":
        return _unknown_key(at)
    if value is None and details["type"] != "missing":
        return Issue(at, "has no value", "Give one, or remove the line")
    explanation = _EXPLANATIONS.get(details["type"])
    if explanation is None:
        return Issue(at, details["msg"].lower(), "")
    return Issue(at, *explanation(_Mistake(at, value, context)))


def clean(location: tuple[int | str, ...]) -> Location:
    """Without pydantic's mark for errors in a key itself."""
    return tuple(location[:-1] if location and location[-1] == "[key]" else location)


def misspelt(at: Location) -> Location | None:
    """The location that an unknown key at `at` was probably meant to have."""
    near = nearest(str(at[-1]), keys_at(at[:-1]))
    return (*at[:-1], near) if near else None


def _unknown_key(at: Location) -> Issue:
    meant, elsewhere = misspelt(at), [home for home in homes(str(at[-1])) if home]
    if meant is not None:
        remedy = f"Did you mean {meant[-1]}?"
    elif elsewhere:
        remedy = f"It belongs to {' or '.join(elsewhere)}"
    else:
        remedy = f"{dotted(at[:-1]) or 'A manifest'} knows {', '.join(keys_at(at[:-1]))}"
    return Issue(at, f"the key {at[-1]} is not known here", remedy)


def _missing(mistake: _Mistake) -> Explanation:
    example = EXAMPLES.get(str(mistake.at[-1]))
    return f"{mistake.at[-1]} is missing", f"Add it, e.g. {example}" if example else "Add it"


def _choice(mistake: _Mistake) -> Explanation:
    choices = [word.strip("'") for word in mistake.context["expected"].replace(" or ", ", ").split(", ")]
    near = nearest(mistake.value, choices) if isinstance(mistake.value, str) else None
    listed = ", ".join(choices)
    message = f"{mistake.value!r} is not {listed}" if len(choices) == 1 else f"{mistake.value!r} is none of {listed}"
    return message, f"Did you mean {near}?" if near else f"Write {' or '.join(choices)}"


def _string(mistake: _Mistake) -> Explanation:
    if isinstance(mistake.value, bool | int | float):
        text = str(mistake.value).lower() if isinstance(mistake.value, bool) else str(mistake.value)
        return f"must be a string, not {_kind(mistake.value)}", f'{QUOTE_IT}"{text}"'
    if isinstance(mistake.value, list) and mistake.at[-1] in ("bootstrapServers", "connect"):
        return "must be one string, not a list", "Separate the servers by commas, e.g. kafka-0:9092,kafka-1:9092"
    example = EXAMPLES.get(str(mistake.at[-1]))
    return f"must be a string, not {_kind(mistake.value)}", f"Write one text, e.g. {example}" if example else _ONE_TEXT


def _integer(mistake: _Mistake) -> Explanation:
    digits = isinstance(mistake.value, str) and mistake.value.isdigit()
    remedy = f"Remove the quotes: {mistake.value}" if digits else "Write digits only, e.g. 2"
    return f"must be a whole number, not {_kind(mistake.value)}", remedy


def _boolean(mistake: _Mistake) -> Explanation:
    return f"must be true or false, not {_kind(mistake.value)}", "Write true or false, without quotes"


def _mapping(mistake: _Mistake) -> Explanation:
    message = f"must be a mapping, not {_kind(mistake.value)}"
    if "secretProperties" in mistake.at or mistake.at[-1] in ("credentials", "keyPassword"):
        return message, "Say where the secret is: {env: NAME} or {file: path}"
    return message, f"Write keys and values, e.g. {EXAMPLES.get(str(mistake.at[-1]), 'key: value')}"


def _list(mistake: _Mistake) -> Explanation:
    remedy = f"Write [{mistake.value}]" if isinstance(mistake.value, str) else "Begin each of its items with '- '"
    return f"must be a list, not {_kind(mistake.value)}", remedy


def _too_small(mistake: _Mistake) -> Explanation:
    return f"{mistake.value} is too small", f"The least is {mistake.context['ge']}"


def _too_large(mistake: _Mistake) -> Explanation:
    return f"{mistake.value} is too large", f"The most is {mistake.context['le']}"


def _empty(mistake: _Mistake) -> Explanation:
    return "is an empty list", f"Give at least one, e.g. {EXAMPLES.get(str(mistake.at[-1]), '[…]')}"


def _kind(value: Any) -> str:
    """What sort of value it is; texts themselves are not shown, they may be secrets."""
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a mapping"


_EXPLANATIONS: Final[Mapping[str, Callable[[_Mistake], Explanation]]] = {
    "missing": _missing,
    "literal_error": _choice,
    "string_type": _string,
    "int_type": _integer,
    "bool_type": _boolean,
    "model_type": _mapping,
    "dict_type": _mapping,
    "mapping_type": _mapping,
    "tuple_type": _list,
    "greater_than_equal": _too_small,
    "less_than_equal": _too_large,
    "too_short": _empty,
}
