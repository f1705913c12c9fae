"""Logging outlives whatever standard error was while it was set up."""

from __future__ import annotations

import errno
import io
import json
import logging
import sys
import threading
from collections.abc import Iterator

import pytest
import structlog
from kazoo.client import KazooClient

from integration.waiting import for_a_while
from tandem import logs


def test_lines_go_to_standard_error_as_it_is_when_they_are_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as replaced:
        borrowed = io.StringIO()
        replaced.setattr(sys, "stderr", borrowed)
        logs.configure("INFO", job="orders")
        borrowed.close()

    logs.get_logger("test").warning("still_told", epoch=7)

    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["epoch"], line["job"]) == ("still_told", 7, "orders")


def written(capsys: pytest.CaptureFixture[str]) -> list[tuple[object, object]]:
    """Of each line: its topic, and how many like it were left out before."""
    lines = map(json.loads, capsys.readouterr().err.splitlines())
    return [(line.get("topic"), line.get("repeated")) for line in lines]


@pytest.fixture
def now_s(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The clock of a process that has set up its log."""
    now = [0.0]
    unless_repeated = logs.UnlessRepeated(lambda: now[0])
    monkeypatch.setattr(logs, "UnlessRepeated", lambda: unless_repeated)
    logs.configure("INFO", job="orders")
    yield now
    structlog.reset_defaults()


def test_a_warning_that_comes_again_and_again_is_written_now_and_then_with_how_often(
    capsys: pytest.CaptureFixture[str], now_s: list[float]
) -> None:
    log = logs.get_logger("test")
    for at_s in range(31):
        now_s[0] = float(at_s)
        log.warning("inputs_unknown", topic="a", reason=f"no answer in {at_s} s")
        log.error("inputs_unknown", topic="b", exc_info=ValueError(at_s))
    assert written(capsys) == [("a", None), ("b", None), ("a", 29), ("b", 29)]


def test_what_differs_is_written_however_much_it_is_and_so_is_what_is_no_warning(
    capsys: pytest.CaptureFixture[str],
    now_s: list[float],  # noqa: ARG001
) -> None:
    log = logs.get_logger("test")
    for index in range(1_000):
        log.warning("row_refused", topic="a", index=index)
        log.info("published", topic="b")
    assert written(capsys) == [("a", None), ("b", None)] * 1_000


# Libraries -----------------------------------------------------------------------------------------------------------

IN_LIBRARY = "/venv/lib/python3.11/site-packages/some/library.py"


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(logs, "_LIBRARIES", logs.LibraryLog())
    before, kazoo = logging.lastResort, logging.getLogger("kazoo")
    handlers, propagates = kazoo.handlers, kazoo.propagate
    logs.configure("INFO", replica="r")
    yield
    logging.lastResort, kazoo.handlers, kazoo.propagate = before, handlers, propagates
    structlog.reset_defaults()


def say(name: str, text: str, *args: object, path: str = IN_LIBRARY, level: int = logging.WARNING) -> None:
    """Log as a library does, where nobody has set up logging: pytest has, for all loggers that are known by name."""
    logging.Logger(name).handle(logging.LogRecord(name, level, path, 7, text, args, None))


def test_a_duration_that_is_a_number_makes_no_other_line_and_one_in_a_name_does(
    capsys: pytest.CaptureFixture[str], now_s: list[float]
) -> None:
    log = logs.get_logger("test")
    for second in range(5):
        now_s[0] = float(second)
        for topic in ("clicks-5s", "clicks-60s"):
            log.warning("input_missing", topic=topic, for_s=second)
    assert written(capsys) == [("clicks-5s", None), ("clicks-60s", None)]


@pytest.mark.usefixtures("configured")
def test_what_a_library_says_is_a_line_of_tandems_log_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    for waited_s in range(100):
        say("some.library", "Retrying %s after %d s, session %s", "b-1:2181", waited_s, hex(waited_s))
    say("some.library", "Retrying b-2:2181 after 1 s, session 0x0")
    say("some.other", "Retrying b-1:2181 after 1 s, session 0x0", level=logging.ERROR)
    say("some.library", "not of interest", level=logging.INFO)

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]

    assert [(line["event"], line["level"], line["library"], line["replica"]) for line in lines] == [
        ("library", "warning", "some.library", "r"),
        ("library", "warning", "some.library", "r"),
        ("library", "error", "some.other", "r"),
    ]
    assert lines[0]["reason"] == "Retrying b-1:2181 after 0 s, session 0x0"


@pytest.mark.usefixtures("configured")
def test_how_often_it_came_meanwhile_is_with_the_next(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(logging, "lastResort", logs.LibraryLog(lambda: now_s[0]))
    for at_s in (0.0, 1.0, 2.0, 31.0):
        now_s[0] = at_s
        say("some.library", "away")

    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert "repeated" not in first
    assert second["repeated"] == 2


@pytest.mark.usefixtures("configured")
def test_what_the_job_says_itself_is_written_as_it_is_and_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        say("job", "no rate for %s", "EUR", path="/home/me/job.py")

    assert capsys.readouterr().err == "no rate for EUR\n" * 2


@pytest.mark.usefixtures("configured")
def test_a_traceback_of_a_library_is_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("of a callback")
    except ValueError:
        record = logging.LogRecord("asyncio", logging.ERROR, IN_LIBRARY, 7, "unhandled", (), sys.exc_info())
    logs.LibraryLog().handle(record)

    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert "ValueError: of a callback" in line["exception"]


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("sets_up", [False, True])
def test_kazoo_is_bounded_also_where_the_job_sets_up_logging(capfd: pytest.CaptureFixture[str], sets_up: bool) -> None:
    """With a session of which no server is there."""
    root = logging.StreamHandler()
    if sets_up:
        logging.getLogger().addHandler(root)
    client = KazooClient(
        "127.0.0.1:1", timeout=1.0, connection_retry={"max_tries": -1, "delay": 0.01, "max_delay": 0.01}
    )
    client.start_async()
    for_a_while(2.0, "kazoo tries again and again")
    client.stop()
    client.close()
    logging.getLogger().removeHandler(root)

    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert 1 <= len(lines) <= 4, lines
    assert {line["library"] for line in lines} == {"kazoo.client"}


class Collecting(io.StringIO):
    """What a line is written to while the collector runs: something that it collects logs, too."""

    def __init__(self) -> None:
        super().__init__()
        self.is_collecting = False

    def write(self, text: str) -> int:
        if not self.is_collecting:
            self.is_collecting = True
            say("asyncio", "Task was destroyed but it is pending!")
        return super().write(text)


@pytest.mark.usefixtures("configured")
def test_a_line_may_be_written_while_one_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Collecting()
    monkeypatch.setattr(sys, "stderr", written)
    writer = threading.Thread(target=logs.get_logger("x").info, args=("written",), daemon=True)
    writer.start()
    writer.join(10)
    assert not writer.is_alive(), "it waits for itself"
    assert [json.loads(line)["event"] for line in written.getvalue().splitlines()] == ["library", "written"]


@pytest.mark.usefixtures("configured")
def test_a_level_of_a_librarys_own_is_written_as_the_one_below(capsys: pytest.CaptureFixture[str]) -> None:
    logs.LibraryLog().handle(logging.LogRecord("x", 35, IN_LIBRARY, 7, "odd", (), None))
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["level"], line["reason"]) == ("warning", "odd")


@pytest.mark.usefixtures("configured")
def test_a_folder_of_ones_own_packages_is_no_library(capsys: pytest.CaptureFixture[str]) -> None:
    say("job", "no rate", path="/srv/our-packages/job.py")
    assert capsys.readouterr().err == "no rate\n"


class Full(io.StringIO):
    """A log on a disk that is full."""

    def write(self, text: str) -> int:  # noqa: ARG002
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.usefixtures("configured")
def test_a_line_that_cannot_be_written_is_lost_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Full())
    logs.get_logger("x").info("written")
