"""What a job's function returned, where it is none of what it may return."""

from __future__ import annotations

import pytest

from tandem.engine.output import one_stream
from tandem.jobapi.errors import JobError
from tandem.manifest import SinkSpec

SINKS = [SinkSpec(name="out", topic="out")]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, "NoneType"),
        ([1], "list"),
        ({"out": None}, "{'out': NoneType}"),
        ({1: 2, "a": 3}, "{1: int, 'a': int}"),
        ({}, "{}"),
    ],
)
def test_what_is_no_dataframe_for_each_sink_is_refused_in_words(result: object, told: str) -> None:
    with pytest.raises(JobError) as refused:
        one_stream(result, SINKS)

    assert str(refused.value).startswith(
        f"the job returned {told}. Return a DataFrame, or a dict of DataFrames with the"
    )
