"""The reason for an end is what the process itself wrote, in this run."""

from __future__ import annotations

import json
from pathlib import Path

from tandem.local.endings import LogStory, read_story


def entry(event: str, **fields: str) -> str:
    return json.dumps({"event": event, "level": "info", **fields}) + "\n"


def test_a_refusal_is_read_from_its_line_among_the_noise(tmp_path: Path) -> None:
    log = tmp_path / "replica-0.log"
    log.write_text(
        "WARNING: Using incubator modules\n"
        + entry("started")
        + "{not json\n"
        + entry("refused", reason="topic in does not exist", kind="MissingTopicError")
        + entry("not_closed", reason="something else")
    )

    assert read_story(log, 0) == LogStory("topic in does not exist", "MissingTopicError", came_up=True)


def test_what_an_earlier_run_wrote_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "replica-0.log"
    before = entry("started") + entry("failed", reason="earlier", kind="RuntimeError")
    log.write_text(before + entry("waiting"))

    assert read_story(log, len(before)) == LogStory()


def test_a_process_that_could_not_log_yet_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "replica-0.log"
    log.write_text("m.yaml:3: spec.replicas: 0 is too small. Write at least 1\n")

    assert read_story(log, 0).reason == "m.yaml:3: spec.replicas: 0 is too small. Write at least 1"


def test_of_a_very_long_log_beginning_and_end_are_read(tmp_path: Path) -> None:
    log = tmp_path / "replica-0.log"
    with log.open("w") as file:
        file.write(entry("started"))
        file.writelines(entry("epoch", filler="x" * 1_000) for _ in range(3_000))
        file.write(entry("failed", reason="at last", kind="RuntimeError"))

    assert read_story(log, 0) == LogStory("at last", "RuntimeError", came_up=True)


def test_a_log_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert read_story(tmp_path / "absent.log", 0) == LogStory()
