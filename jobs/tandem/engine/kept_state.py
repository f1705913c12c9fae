"""What stateful operators keep their state by, and where two plans differ in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptState:
    """A stateful operator: what its state is kept by, and what is kept, in the order in which Spark keeps it.

    Attributes
    ----------
    operator : its kind.
    keys : the columns of the inputs behind each key.
    values : the columns behind what is kept.
    made : how each key is computed from the columns.
    form : of `made`, which is compared with that of the same form only; empty if it is not known.
    """

    operator: str
    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    form: str = ""


def difference(old: Sequence[KeptState], new: Sequence[KeptState]) -> str | None:
    """In words, where two plans keep other things in the same place; None if nowhere, as far as both have operators.

    Operators that are new, are gone or are of another kind Spark refuses by itself.
    """
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        if before.operator != after.operator:
            continue
        by = _other_keys(before, after)
        if by is not None:
            was, now = by
            return f"operator {number} ({before.operator}) kept its state by {_words(was)}, now by {_words(now)}"
        if before.values != after.values and not _computed_otherwise(before, after):
            return f"operator {number} ({before.operator}) kept {_words(before.values)}, now {_words(after.values)}"
    return None


def _other_keys(before: KeptState, after: KeptState) -> tuple[Sequence[str], Sequence[str]] | None:
    """Both operators' keys if they are others, by their columns where these differ: they are easier to read."""
    if before.form and before.form == after.form:
        if before.made == after.made:
            return None
        if before.keys == after.keys:
            return before.made, after.made
    return (before.keys, after.keys) if before.keys != after.keys else None


def _computed_otherwise(before: KeptState, after: KeptState) -> bool:
    """Whether aggregations of the same kinds take in something else from now on, as corrected code may mean to."""
    if before.operator != "aggregation" or sorted(before.values) == sorted(after.values):
        return False  # what a join keeps are columns; and aggregations in another order take each other's values
    kinds = [[value.partition("(")[0] for value in one.values] for one in (before, after)]
    return kinds[0] == kinds[1]


def _words(parts: Sequence[str]) -> str:
    return ", ".join(parts) or "nothing"
