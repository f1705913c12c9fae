"""docs/tutorials/kill.md and upgrade.md, command by command."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.command import PATIENCE_S
from integration.terminals import opened, shows, totals
from tandem.process.info import ExitCode
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

LONG_S = 5 * PATIENCE_S


@pytest.mark.thorough
def test_the_kill(tmp_path: Path, topic_prefix: str) -> None:
    with opened(tmp_path, topic_prefix, "kill") as kill:
        kill.make_job()
        kill.serve()
        run = kill.run()
        run.when(lambda: any(f"replica-1 {does}" in run.output for does in ("follows", "publishes")))

        kill.shell("""seq 600 | sed 's/.*/{"product": "tea", "quantity": 1}/' > tea.jsonl""")
        feed = kill.begin("tandem dev produce job.yaml orders tea.jsonl --rate 20")
        consume = kill.begin("tandem dev consume job.yaml totals")
        consume.when(lambda: bool(totals(consume)))
        kill.type("tandem kill shop replica-0")
        assert feed.exit_code() == ExitCode.OK, feed.output
        kill.type("tandem status shop")
        kill.type("tandem kill shop replica-1 --signal STOP")
        kill.type("tandem kill shop replica-1 --signal CONT")

        consume.when(lambda: totals(consume)[-1]["orders"] == 600)
        counts = [row["orders"] for row in totals(consume)]
        assert counts == sorted(set(counts)), consume.output
        kill.type("tandem verify job.yaml", "--wait", "60")


@pytest.mark.thorough
def test_an_upgrade(tmp_path: Path, topic_prefix: str) -> None:
    with opened(tmp_path, topic_prefix, "upgrade") as upgrade:
        upgrade.make_job()
        upgrade.serve()
        upgrade.shell(r"printf '  snapshots:\n    store: ./snapshots\n' >> job.yaml")
        upgrade.begin("tandem run job.yaml", "--no-screen")
        upgrade.type("tandem dev produce job.yaml orders orders.jsonl")
        consume = upgrade.begin("tandem dev consume job.yaml totals --from-beginning")
        assert shows(consume, {"tea": 2, "coffee": 1}, {"tea": 7, "coffee": 1}), consume.output
        assert wait_until(lambda: any((upgrade.folder / "snapshots").rglob("manifests/*")), Deadline(PATIENCE_S))

        upgrade.shell("""sed 's/totals.columns)/totals.columns, F.lit(2).alias("version"))/' job.py > job_2.py""")
        upgrade.shell("sed 's/file: job.py/file: job_2.py/' job.yaml > job-2.yaml")
        upgrade.type("tandem validate job-2.yaml")
        done = upgrade.type("tandem upgrade job-2.yaml", patience_s=LONG_S)
        assert "runs generation 1" in done

        upgrade.type("tandem dev produce job.yaml orders orders.jsonl")
        assert shows(consume, {"tea": 4, "coffee": 2}, {"tea": 14, "coffee": 2}), consume.output
        assert {"product": "tea", "orders": 4, "pieces": 14, "version": 2} in totals(consume)

        back = upgrade.type("tandem upgrade job.yaml --savepoint generation-1", patience_s=LONG_S)
        assert "runs generation 2" in back
