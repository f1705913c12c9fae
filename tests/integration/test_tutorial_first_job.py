"""docs/tutorials/first-job.md and, continuing it, kill.md: every command as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.terminals import Terminals, opened, shows, totals
from tandem.process.info import ExitCode

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(1_500)]


def test_a_first_job_and_its_kill(tmp_path: Path, topic_prefix: str) -> None:
    with opened(tmp_path, topic_prefix, "first-job") as first:
        first.type("tandem new shop", at=first.parent)
        first.change_folder("cd shop")
        first.use_ports()
        first.type("tandem validate job.yaml")
        dev = first.dev()
        run = first.begin("tandem run job.yaml", "--no-screen")
        consume = first.begin("tandem dev consume job.yaml totals --from-beginning")

        fed = first.type("tandem dev produce job.yaml orders orders.jsonl")
        assert fed == f"4 records to {first.job}-orders\n"
        assert shows(consume, {"tea": 2, "coffee": 1}, {"tea": 7, "coffee": 1}), consume.output
        first.shell("""echo "no order" | tandem dev produce job.yaml orders""")
        letters = first.type(
            "tandem dev consume job.yaml dead-letter --from-beginning", "--count", "1", "--timeout", "60"
        )
        assert "no order" in letters

        run.when(lambda: any(f"replica-1 {does}" in run.output for does in ("follows", "publishes")))
        before = len(run.output)
        first.type("tandem kill shop replica-0")
        first.type("tandem dev produce job.yaml orders orders.jsonl")
        assert shows(consume, {"tea": 4, "coffee": 2}, {"tea": 14, "coffee": 2}), consume.output
        first.type("tandem verify job.yaml", "--wait", "60")
        assert "3 passed" in first.shell("pytest")
        first.all_typed()

        run.when(lambda: "replica-0 follows" in run.output[before:])
        while_it_flows(first.turn_to("kill"))

        for command in (run, dev):
            first.interrupt(command)
        again = first.dev()
        assert f"{first.job}-orders, {first.job}-totals (kept)" in again.output
        first.interrupt(again)


def while_it_flows(kill: Terminals) -> None:
    """The page about the kill, with the job of the page before it running, whole."""
    kill.shell("""seq 600 | sed 's/.*/{"product": "tea", "quantity": 1}/' > tea.jsonl""")
    feed = kill.begin("tandem dev produce job.yaml orders tea.jsonl --rate 20", "--rate", "40")
    consume = kill.begin("tandem dev consume job.yaml totals")
    consume.when(lambda: bool(totals(consume)))
    kill.type("tandem kill shop replica-0")
    assert feed.exit_code() == ExitCode.OK, feed.output
    kill.type("tandem status shop")
    kill.type("tandem kill shop replica-1 --signal STOP")
    kill.type("tandem kill shop replica-1 --signal CONT")

    consume.when(lambda: totals(consume)[-1]["orders"] == 604)
    counts = [row["orders"] for row in totals(consume)]
    assert counts == sorted(set(counts)), consume.output
    kill.type("tandem verify job.yaml", "--wait", "60")
    kill.all_typed()
