"""78 says that the manifest, Kafka or the store must be fixed first; 1 that the command was not done."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tandem.cli.stores import NoStoreError, Screen
from tandem.kafka.errors import ConnectionFailedError
from tandem.process.info import ExitCode
from tandem.snapshots import NoSnapshotError, SnapshotStoreError
from tandem.state import NoStateError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SnapshotStoreError("no route"), ExitCode.REFUSED),
        (NoStoreError("none is named"), ExitCode.REFUSED),
        (ConnectionFailedError("nobody"), ExitCode.REFUSED),
        (NoSnapshotError("there is none"), ExitCode.FAILED),
        (NoStateError("there is none"), ExitCode.FAILED),
    ],
)
def test_what_must_be_fixed_first_is_told_from_what_failed(
    error: Exception, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as left, Screen().telling("not done", Path("job.yaml")):
        raise error
    assert left.value.exit_code == code
    assert f"not done: {error}" in capsys.readouterr().err
