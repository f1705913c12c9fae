"""How a process ended is what it said itself, for this run and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tandem.engine.static_tables import TableChangedError
from tandem.jobapi.errors import JobError
from tandem.kafka.errors import ConnectionFailedError, LostInputError, RecreatedTopicError
from tandem.process import ending
from tandem.process.ending import End, EndKind, kind_of, last_words
from tandem.protocol.publication import DivergedError
from tandem.protocol.values import Marker
from tandem.replica.identity import UnlikeError
from tandem.replica.main import KINDS
from tandem.snapshots import SnapshotStoreError

DIVERGED = DivergedError(7, "mine", Marker(7, 0, "replica-1", "other", 3, 12))


@pytest.fixture(autouse=True)
def termination_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "termination-log"
    monkeypatch.setattr(ending, "TERMINATION_LOG", path)
    return path


def test_an_end_is_found_by_the_name_of_its_process(tmp_path: Path) -> None:
    end = End.of(DIVERGED, KINDS, came_up=True)
    end.leave(tmp_path, "replica-0")

    assert End.read(tmp_path, "replica-0") == end
    assert (end.kind, end.epoch, end.error, end.came_up) == (EndKind.DIVERGED, 7, "DivergedError", True)
    assert End.read(tmp_path, "replica-1") is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("broke"), EndKind.FAILED),
        (LostInputError("gone"), EndKind.LOST_INPUT),
        (RecreatedTopicError("other"), EndKind.REFUSED),
        (ConnectionFailedError("nobody"), EndKind.UNREACHABLE),
        (SnapshotStoreError("away"), EndKind.UNREACHABLE),
        (JobError("raised"), EndKind.CHANGED),
        (TableChangedError("other rows"), EndKind.CHANGED),
        (UnlikeError("other plan"), EndKind.CHANGED),
    ],
)
def test_an_error_is_of_the_kind_of_its_nearest_type(error: Exception, kind: EndKind) -> None:
    assert kind_of(error, KINDS) is kind


@pytest.mark.parametrize("letter", ["x", '"', "ß", "\n"])
def test_kubernetes_gets_it_where_its_file_is_and_nothing_too_long_for_it(termination_log: Path, letter: str) -> None:
    End(EndKind.REFUSED, letter * 100_000).leave(None, "replica-0")
    assert not termination_log.exists()

    termination_log.touch()
    End(EndKind.REFUSED, letter * 100_000).leave(None, "replica-0")

    left = termination_log.read_bytes()
    assert 3_000 < len(left) <= 4_096
    found = End.decode(left.decode())
    assert found is not None
    assert found.kind is EndKind.REFUSED


def test_a_folder_that_cannot_be_written_to_hides_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    End(EndKind.FAILED, "broke").leave(tmp_path / "file", "replica-0")


@pytest.mark.parametrize(
    "text", ["", "Killed", "{", "[]", "{}", '{"kind": "unheard of"}', '{"kind": "failed", "more": 1}']
)
def test_what_is_no_end_is_none(text: str) -> None:
    assert End.decode(text) is None


def test_of_one_that_could_not_say_why_the_last_words_of_that_run_are_quoted(tmp_path: Path) -> None:
    log = tmp_path / "replica-0.log"
    before = "of the run before\n"
    log.write_text(before + "m.yaml:3: spec.replicas: 0 is too small. Write at least 1\n")

    assert last_words(log, len(before)) == "m.yaml:3: spec.replicas: 0 is too small. Write at least 1"
    assert last_words(tmp_path / "absent.log", 0) == ""


def test_a_process_that_gets_a_signal_before_it_has_begun_says_that_it_was_asked_to_end(tmp_path: Path) -> None:
    code = f"""
import pathlib, signal, threading
from tandem.process.entry import Lifecycle
from tandem.process.info import stop_on_signals
stop_on_signals(threading.Event(), Lifecycle("replica-0", "replica", pathlib.Path({str(tmp_path)!r})).stopped)
signal.raise_signal(signal.SIGTERM)
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    end = End.read(tmp_path, "replica-0")

    assert (ended.returncode, end and end.kind, end and end.came_up) == (0, EndKind.STOPPED, False)


class OfJavaError(Exception):
    """Asks a JVM for its words that has ended."""

    def __str__(self) -> str:
        raise ConnectionError("Answer from Java side is empty")


def test_an_error_that_cannot_say_what_it_is_ends_a_process_all_the_same() -> None:
    end = End.of(OfJavaError("An error occurred while calling o42.start", object()), KINDS, came_up=True)
    assert end.kind is EndKind.FAILED
    assert end.reason.startswith("An error occurred while calling o42.start (its words are not known: ")
    assert End.of(OfJavaError(), KINDS, came_up=True).reason.startswith("OfJavaError (")
