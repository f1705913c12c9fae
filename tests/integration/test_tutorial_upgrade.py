"""docs/tutorials/upgrade.md: every command as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.command import PATIENCE_S
from integration.terminals import opened, shows, totals
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(1_500)]

LONG_S = 2 * PATIENCE_S


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
        upgrade.all_typed()
