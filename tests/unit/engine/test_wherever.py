"""A process has the local time of the job's SQL, wherever it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tandem.engine.session import settings_of
from tandem.engine.wherever import follow_time_zone
from tandem.manifest import SparkSpec


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's own zone is another one."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "local"),
    [
        ("UTC", "12:00"),
        ("Z", "12:00"),
        (" Europe/Berlin", "13:00"),
        ("+02:00", "14:00"),
        ("-09:30", "02:30"),
        ("GMT+8", "20:00"),
        ("UTC-5", "07:00"),
        ("+18:00", "06:00"),
    ],
)
@pytest.mark.usefixtures("elsewhere")
def test_local_time_is_that_of_the_jobs_time_zone(zone: str, local: str) -> None:
    follow_time_zone(zone)

    noon = datetime(2026, 1, 7, 12, tzinfo=UTC).timestamp()
    assert time.strftime("%H:%M", time.localtime(noon)) == local
    assert os.environ["TZ"]  # what is started from now on has it too


def test_the_jvm_has_no_language_nor_encoding_of_its_machine(tmp_path: object) -> None:
    options = settings_of("flights", "replica-0", SparkSpec(), tmp_path, tmp_path)["spark.driver.extraJavaOptions"]  # type: ignore[arg-type]

    for fixed in ("-Duser.language=en", "-Duser.country=", "-Dfile.encoding=UTF-8"):
        assert fixed in options.split()
