"""A start that does not get on says what it waits for."""

from __future__ import annotations

from pathlib import Path

from tandem.replica.starting import Starting

CODE = "def job(look):\n    return look()\n"


def test_a_step_is_spoken_of_only_when_it_takes_long() -> None:
    now = [0.0]
    starting = Starting(60.0, lambda: now[0])
    try:
        starting.begins("the JVM")
        now[0] = 59.0
        assert starting.waits_for == ""
        now[0] = 61.0
        assert starting.waits_for.startswith("the JVM, for 61 s")
        starting.begins("executors")
        assert starting.waits_for == ""
        now[0] = 200.0
        assert starting.waits_for.startswith("executors, for 139 s")
    finally:
        starting.ends()
    assert starting.waits_for == ""


def test_the_line_of_the_jobs_code_is_named_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(CODE)
    names: dict[str, object] = {}
    exec(compile(CODE, str(file), "exec"), names)  # noqa: S102
    starting = Starting(0.0)
    try:
        starting.begins("the job's module and function, which make its plan")
        said = names["job"](lambda: starting.waits_for)  # type: ignore[operator]
    finally:
        starting.ends()

    assert "the job's code is at" in said
