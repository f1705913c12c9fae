"""What would take rows out of Tandem's sight raises while the job's code runs, and is as it was behind it."""

from __future__ import annotations

import pytest
from pyspark.sql.classic.dataframe import DataFrame

from tandem.engine.guard import Taken, guarded
from tandem.jobapi.errors import JobError


@pytest.mark.parametrize("name", ["checkpoint", "localCheckpoint"])
def test_a_checkpoint_of_a_dataframe_is_refused_with_its_line(name: str) -> None:
    of_spark = getattr(DataFrame, name)

    with pytest.raises(JobError) as refused, guarded(Taken()):
        getattr(DataFrame, name)(object())

    assert f"(DataFrame.{name}() in test_guard.py:" in str(refused.value)
    assert "Remove it" in str(refused.value)
    assert getattr(DataFrame, name) is of_spark
