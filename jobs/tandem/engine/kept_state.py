"""What stateful operators keep their state by, noted beside a checkpoint: a plan that keeps other things is refused."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tandem.jobapi.errors import JobError


@dataclass(frozen=True, slots=True)
class KeptState:
    """A stateful operator: what its state is kept by, and what is kept, in the order in which Spark keeps it.

    Attributes
    ----------
    operator : its kind.
    keys : the columns of the inputs behind each key.
    values : the columns behind what is kept; of `applyInPandasWithState` the fields of its state.
    made : how each key is computed from the columns.
    computed : how what an aggregation keeps is computed, as far as that can be said. Corrected code may do it otherwise.
    rows : the conditions on the rows that get here. They may change, too.
    form : of these three, which are compared with those of the same form only; empty if it is not known.
    """

    operator: str
    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    form: str = ""
    computed: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


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
            hint = f" ({_ONE_BY_ONE})" if before.operator in _OF_FIELDS else ""
            return (
                f"operator {number} ({before.operator}) kept {_words(before.values)}, now {_words(after.values)}{hint}"
            )
        if before.form == after.form and _moved(before.computed, after.computed):
            kept, now = _words(before.computed), _words(after.computed)
            return f"operator {number} ({before.operator}) kept {kept}, now {now} ({_ONE_BY_ONE})"
    return _swapped(old, new)


def _swapped(old: Sequence[KeptState], new: Sequence[KeptState]) -> str | None:
    """In words, that operators which differ in their rows only, or in what they compute, may have changed places."""
    pairs = list(zip(old, new, strict=False))
    if any(before.operator != after.operator for before, after in pairs):
        return None
    for aspect in _ASPECTS:
        found = _moved([aspect(before) for before, _ in pairs], [aspect(after) for _, after in pairs])
        for number, other in found.items():
            before, after = pairs[number]
            was, now = _apart_from(before, after), _apart_from(after, before)
            return (
                f"operator {number} ({before.operator}) kept {was}, now {now}, as operator {other} did ({_ONE_BY_ONE})"
            )
    return None


def _of_rows(one: KeptState) -> object:
    return one.operator, one.keys, one.form, one.rows


def _of_computed(one: KeptState) -> object:
    return one.operator, one.keys, one.form, one.computed


def _of_values(one: KeptState) -> object:
    return one.operator, one.keys, one.values


_OF_FIELDS: Final = frozenset({"applyInPandasWithState"})
"""Operators whose values are the names of fields, which may be other ones."""
_ONE_BY_ONE: Final = "if none has taken the place of another, change one after the other, each in an upgrade of its own"

_ASPECTS: Final[tuple[Callable[[KeptState], object], ...]] = (_of_rows, _of_computed, _of_values)
"""By which of them operators have changed places is noticed also where the rest of them was changed, too."""


def _apart_from(one: KeptState, other: KeptState) -> str:
    computed = one.computed if one.computed != other.computed else ()
    values = one.values if one.values != other.values and not computed else ()
    rows = (f"rows with {row}" for row in one.rows if row not in other.rows)
    return _words([*computed, *values, *rows] or one.keys)


def _moved(old: Sequence[object], new: Sequence[object]) -> dict[int, int]:
    """Places where something stands now that stood elsewhere, and stands there no more; and where that was.

    Whether it has moved cannot be known: (10, 100) may be (100, 1000) because both thresholds were raised, and because they
    have changed places and one was raised. What is counted so far would be taken for the other's in the second case.

    >>> _moved("abc", "bax"), _moved("abc", "bcx"), _moved("abc", "xyc"), _moved("ab", "bb")
    ({0: 1, 1: 0}, {0: 1, 1: 2}, {}, {})
    """
    places = [at for at, (before, after) in enumerate(zip(old, new, strict=False)) if before != after]
    return {at: origin for at in places for origin in places if origin != at and new[at] == old[origin]}


def _other_keys(before: KeptState, after: KeptState) -> tuple[Sequence[str], Sequence[str]] | None:
    """Both operators' keys if they are others, by their columns where these differ: they are easier to read."""
    if before.form and before.form == after.form:
        if before.made == after.made:
            return None
        if before.keys == after.keys:
            return before.made, after.made
    return (before.keys, after.keys) if before.keys != after.keys else None


def _computed_otherwise(before: KeptState, after: KeptState) -> bool:
    """Whether aggregations of the same kinds take in something else from now on, as corrected code may mean to; or whether
    the fields of a function's state have other names, in the order that they had. Notes of an older Tandem name none."""
    if before.operator in _OF_FIELDS:
        return not _moved(before.values, after.values)
    if before.operator != "aggregation" or _moved(before.values, after.values):
        return False  # what a join keeps are columns; and aggregations in another order take each other's values
    kinds = [[value.partition("(")[0] for value in one.values] for one in (before, after)]
    return kinds[0] == kinds[1]


def _words(parts: Sequence[str]) -> str:
    return ", ".join(parts) or "nothing"


OPERATORS: Final = "operators"
"""The file of that note."""
CANNOT_GO_ON: Final = "the job's code cannot go on from the state that the code before it left:"
ANOTHER_NAME: Final = (
    "Give the changed job another metadata.name, so that it begins with no state, at the first records of its inputs"
)


def check_state(checkpoint: Path, plan: Sequence[KeptState] | None) -> None:
    """Raise `JobError` if the state in `checkpoint` is kept by other columns than `plan` keeps its state by.

    State that an older Tandem saved does not say by what it is kept, and is taken as it is; so is all state by a plan of
    which that cannot be said (None).
    """
    known = noted_states(checkpoint)
    if known is None or plan is None:
        return
    if not known and plan:
        kept = ", ".join(f"{one.operator} by {', '.join(one.keys) or 'nothing'}" for one in plan)
        raise JobError(
            f"{CANNOT_GO_ON} it left none, and the code now keeps some ({kept}), in which all that was read before would be "
            f"missing. {ANOTHER_NAME}"
        )
    found = difference(known, plan)
    if found is not None:
        raise JobError(
            f"{CANNOT_GO_ON} {found}. It would take the one for the other without a word. Keep the columns, what is "
            "computed from them, their order and that of the sinks as they were; or "
            f"{ANOTHER_NAME[0].lower()}{ANOTHER_NAME[1:]}"
        )


def note_state(checkpoint: Path, plan: Sequence[KeptState] | None) -> None:
    """Say by what the state in `checkpoint` is kept from now on. The file may be shared with another checkpoint.

    `plan` : None where that cannot be said; "nothing" would mean that there is no state.
    """
    if plan is None:
        (checkpoint / OPERATORS).unlink(missing_ok=True)
        return
    checkpoint.mkdir(parents=True, exist_ok=True)
    written = checkpoint / f".{OPERATORS}"
    written.write_text(json.dumps([asdict(state) for state in plan]))
    written.replace(checkpoint / OPERATORS)


def noted_states(checkpoint: Path) -> list[KeptState] | None:
    """By what the state in `checkpoint` is kept; None if nobody has noted it.

    Earlier versions of Tandem noted nothing, which is to say no state, where a plan could not be read (one with `unpivot`).
    """
    path = checkpoint / OPERATORS
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    if not found and any(checkpoint.glob("state/*/_metadata")):
        return None
    return [
        KeptState(
            one["operator"],
            tuple(one["keys"]),
            tuple(one["values"]),
            tuple(one.get("made", ())),
            one.get("form", ""),
            tuple(one.get("computed", ())),
            tuple(one.get("rows", ())),
        )
        for one in found
    ]
