"""What a rehearsal that does not get on says of the state: nothing, unless Spark cannot go on from it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from tandem.checkpoint.position import EnginePosition
from tandem.engine.query import GivenUpError
from tandem.engine.rehearsal import Rehearsal, StateUnusableError
from tandem.intake.parsing import Intake
from unit.engine.test_warm_up import SOURCES, Past, Query, epoch


class Failing(Query):
    """Spark, which fails so."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def compute(self, *_: Any) -> None:
        raise self._error

    def stop(self) -> None: ...


def rehearsed(error: Exception, folder: Path) -> list[Any]:
    causal = SimpleNamespace(answered=lambda fetched, _: fetched)
    job: Any = SimpleNamespace(
        spare=Failing(error), intake=Intake(SOURCES, 1 << 20), causal=causal, leaves_letters=False
    )
    past: Any = Past(epoch(8, "in"))
    return list(Rehearsal(job).run(folder, EnginePosition(7, 70), past, lambda: False))


def test_an_epoch_that_lasts_says_nothing_of_the_state(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="epoch 8 took longer than 60 s"):
        rehearsed(GivenUpError("it takes long"), tmp_path)


def test_a_state_that_spark_cannot_go_on_from_is_unusable(tmp_path: Path) -> None:
    with pytest.raises(StateUnusableError, match="no changelog"):
        rehearsed(StreamingQueryException("no changelog of version 9"), tmp_path)
