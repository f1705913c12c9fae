"""Whether the lanes of a job can compute alone: what state is kept by has to follow the partitions of the inputs. Pure.

Equal values of what a source is `partitionedBy` are in one partition, so in one lane. State that is kept by it, alone or
among others, is complete in its lane; any other state would be in parts that no lane can put together.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tandem.engine.kept_state import KeptState
from tandem.formats.decoding import column_of
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec
from tandem.manifest.ddl import column_names
from tandem.manifest.formats import REGISTRY_FORMATS

INITIAL_STATE: Final = "initialState"
"""Beside the names of a plan's nodes: one of them begins with the state of all keys."""
_OF_ALL_ROWS: Final = {
    "GlobalLimit": "limit()",
    "Offset": "offset()",
    "Tail": "tail()",
    INITIAL_STATE: "transformWithState() with an initialState",
}
_HOW = (
    "Add it to the keys; or say what the partitions follow (spec.sources[].partitionedBy); or publish the rows to a topic "
    "with that key, and keep the state in a second job that reads it (docs/how-to/lanes.md#grouping-by-something-else); or "
    "set spec.lanes: 1"
)


def check_lanes(
    states: Iterable[KeptState], operators: Iterable[str], sources: Sequence[SourceSpec], lanes: int
) -> None:
    """Raise `JobError` if an operator of a job with so many lanes keeps state that is not complete in one.

    `states` : of the job's plan, as `state_keys.kept_states` describes them.
    `operators` : the names of all nodes of the plan, and `INITIAL_STATE`.
    """
    for operator in sorted(_OF_ALL_ROWS.keys() & set(operators)):
        raise JobError(
            f"a lane cannot compute {_OF_ALL_ROWS[operator]} alone, which is of all rows, and the job has {lanes} lanes. "
            "Leave it out, or set spec.lanes: 1"
        )
    followed = frozenset(_followed(sources))
    for state in states:
        if not any(_follows(key, followed) for key in state.made or state.keys):
            kept = " and ".join(state.made or state.keys) or "nothing"
            partitions = "; ".join(sorted(_words(source) for source in sources if source.table is None))
            raise JobError(
                f"a lane cannot compute {state.operator} by {kept} alone, and the job has {lanes} lanes (spec.lanes): "
                f"{partitions}, so equal keys may be in several lanes. {_HOW}"
            )


def check_columns(sources: Iterable[SourceSpec]) -> None:
    """Raise `JobError` if there is no such column as the partitions of a source should follow.

    `sources` : those of a registry have its columns as their schema.
    """
    for source in sources:
        if source.partitioned_by in ("key", "any") or source.schema_ddl is None or source.table is not None:
            continue
        columns = column_names(source.schema_ddl)
        if source.partitioned_by not in columns:
            raise JobError(
                f"source {source.name} has no column {source.partitioned_by}, which its partitions follow "
                f"(spec.sources[].partitionedBy): it has {', '.join(columns)}. Name one of these columns, key or any"
            )


def relied_on(states: Iterable[KeptState], sources: Sequence[SourceSpec]) -> frozenset[str]:
    """The sources that state is kept of, so that equal values of what they are `partitionedBy` have to be in one lane."""
    parts = {part for state in states for key in state.made or state.keys for part in _ways(key)}
    return frozenset(source.name for source in sources if parts & frozenset(_followed([source])))


def followed_part(state: KeptState, sources: Sequence[SourceSpec]) -> int | None:
    """Which part of an operator's keys, from 0 on, the partitions follow; None: none does.

    `state` : as it is noted beside a checkpoint, where the columns of an only source do not bear its topics' names.
    """
    followed = frozenset(_followed(sources))
    if topics_of_the_only(sources):
        followed |= {column.partition("/")[2] for column in followed}
    keys = state.made or state.keys
    return next((place for place, key in enumerate(keys) if _follows(key, followed)), None)


def topics_of_the_only(sources: Sequence[SourceSpec]) -> str:
    """What the columns of the only source of records are named after; "": there are several, and each says its own."""
    streams = [source for source in sources if source.table is None]
    return _named_after(streams[0]) if len(streams) == 1 else ""


def _named_after(source: SourceSpec) -> str:
    return "+".join(source.topics)


def _words(source: SourceSpec) -> str:
    if source.partitioned_by == "any":
        return f"the partitions of source {source.name} follow nothing (partitionedBy: any)"
    return f"the partitions of source {source.name} follow {_column(source)} (partitionedBy: {source.partitioned_by})"


def _column(source: SourceSpec) -> str:
    return "the record's key" if source.partitioned_by == "key" else f"column {source.partitioned_by}"


def _followed(sources: Iterable[SourceSpec]) -> Iterator[str]:
    """The columns that the partitions follow, as `key_expressions` writes a column of an input."""
    for source in sources:
        if source.table is not None or source.partitioned_by == "any":
            continue
        topics, column = _named_after(source), source.partitioned_by
        if column == "key":
            yield f"{topics}/{column_of(source.name, 'key') if source.key_format in REGISTRY_FORMATS else 'key'}"
        elif source.format in REGISTRY_FORMATS:
            decoded = column_of(source.name, "value")
            yield f"{topics}/{decoded}.{column}"
            if column == "value":  # what is no record is this column
                yield f"{topics}/{decoded}"
        else:
            yield f"{topics}/{column}"
            yield f"{topics}/value.{column}"


def _follows(key: str, followed: frozenset[str]) -> bool:
    """Whether a key is such a column, in each of the ways in which it is made, and on both sides of a join."""
    return all(one in followed for one in _ways(key))


def _ways(key: str) -> list[str]:
    return re.split(r" = | or ", key)
