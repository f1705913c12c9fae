"""Before a job starts, the places of its tables are looked at once: what is wrong for good is told from what may pass."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import fsspec
import pytest

from tandem.replica.table_access import TableUnreachableError, reach
from tandem.replica.tables import TableError, TableSink


def sink(path: object, kind: str = "parquet") -> TableSink:
    return TableSink("archive", kind, str(path))


def test_a_folder_can_be_reached_whether_or_not_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()

    reach([sink(tmp_path / "there"), sink(tmp_path / "to" / "be"), sink(tmp_path / "table", "delta")])


def test_a_store_without_a_login_is_refused_with_how_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    fsspec.config.conf.clear()

    with pytest.raises(TableError) as caught:
        reach([sink("s3://without-a-login/out")])

    assert str(caught.value).startswith("sink archive: the parquet table s3://without-a-login/out cannot be reached: ")
    assert "AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL for s3" in str(caught.value)


@pytest.mark.parametrize(
    "error", [PermissionError("not yours"), ImportError("no library"), ValueError("Protocol not known")]
)
def test_an_error_that_no_restart_cures_is_a_refusal(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr("tandem.replica.table_access._look", raising(error))

    with pytest.raises(TableError, match=str(error)):
        reach([sink("s3://lake/out")])


def test_a_network_that_fails_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.replica.table_access._look", raising(ConnectionError("reset by peer")))

    with pytest.raises(
        TableUnreachableError, match=r"reset by peer\. It is tried again; check that s3://lake/out can be"
    ):
        reach([sink("s3://lake/out")])


def test_silence_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    over = Event()
    monkeypatch.setattr("tandem.replica.table_access._look", lambda _: over.wait(60))

    with pytest.raises(TableUnreachableError, match="no answer within 0 s"):
        reach([sink("s3://lake/out")], timeout_s=0.1)
    over.set()


def raising(error: Exception) -> object:
    def look(_: TableSink) -> None:
        raise error

    return look
