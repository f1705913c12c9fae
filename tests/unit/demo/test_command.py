"""`tandem demo` ends with the exit code of its outcome."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.cli.main import app
from tandem.demo import play
from tandem.demo.acts import CARDS, FLIGHTS
from tandem.demo.latency import Gap
from tandem.demo.settings import Settings
from tandem.demo.summary import Summary
from tandem.process.errors import EmbeddedError


def summary(published: int = 100, lost: int = 0, duplicated: int = 0, reordered: int = 0, diverged: int = 0) -> Summary:
    return Summary(published, lost, duplicated, reordered, diverged, Gap(), Gap(), (), ("some finding",))


def demo(monkeypatch: pytest.MonkeyPatch, ending: Summary | Exception, *options: str) -> tuple[Result, Settings]:
    """What the command does when the play ends so, and the settings of the play."""
    given: list[Settings] = []

    def played(settings: Settings, _show: object) -> Iterator[play.Ending]:
        given.append(settings)
        if isinstance(ending, Exception):
            raise ending
        yield play.Ending(FLIGHTS, ending)
        yield play.Ending(CARDS, summary())

    monkeypatch.setattr(play, "play", played)
    return CliRunner().invoke(app, ["demo", *options]), given[0]


def test_a_good_demo_ends_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = demo(monkeypatch, summary())
    assert result.exit_code == 0
    for act in ("flights", "cards"):
        assert f"{act}: published 100, lost 0, duplicated 0, reordered 0" in result.output


@pytest.mark.parametrize(
    "wrong",
    [summary(lost=1), summary(duplicated=1), summary(reordered=1), summary(diverged=1), summary(published=0)],
    ids=["lost", "duplicated", "reordered", "diverged", "nothing published"],
)
def test_a_demo_whose_output_is_wrong_ends_with_1_and_says_why(monkeypatch: pytest.MonkeyPatch, wrong: Summary) -> None:
    result, _ = demo(monkeypatch, wrong)
    assert result.exit_code == 1
    assert "some finding" in result.output
    assert wrong.line in result.output.replace("\n", "")


@pytest.mark.parametrize(
    ("error", "code"),
    [(play.DemoError("no end"), 1), (EmbeddedError("Java is missing"), 78), (play.StoppedError(), 130)],
    ids=["not played to its end", "something is missing", "stopped"],
)
def test_a_demo_that_does_not_come_to_its_end_says_so(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    result, _ = demo(monkeypatch, error)
    assert result.exit_code == code
    assert (str(error) or "stopped; nothing is left running") in result.output


def test_a_short_demo_is_short_before_and_after_too(monkeypatch: pytest.MonkeyPatch) -> None:
    _, usual = demo(monkeypatch, summary())
    _, short = demo(monkeypatch, summary(), "--seconds", "12", "--warm-up", "3")
    assert (usual.warm_up(FLIGHTS), usual.warm_up(CARDS)) == ((20, 30), (20, 20))
    assert (usual.kill_at, usual.after_return) == (10, 8)
    assert (short.warm_up(FLIGHTS), short.kill_at, short.after_return) == ((3, 3), 3, 2.4)


def test_the_kill_must_come_before_the_end(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--seconds", "20", "--kill-at", "20", "--output", str(tmp_path)])
    assert result.exit_code == 2
