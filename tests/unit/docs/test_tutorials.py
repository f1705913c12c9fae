"""The upgrade of the tutorial, as far as it needs no servers: its edits make a manifest and code that are valid."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alerts.rules import ROOT
from tandem.cli.main import app
from tandem.manifest import load

PAGE = (ROOT / "docs" / "tutorials" / "upgrade.md").read_text()


def test_the_edits_of_the_upgrade_make_a_valid_job_that_differs_in_its_code_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["new", "shop"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "shop")
    edits = [line.strip() for line in PAGE.splitlines() if line.startswith(("    printf ", "    sed "))]

    for edit in edits:
        subprocess.run(["/bin/sh", "-c", edit], check=True)

    assert len(edits) == 3
    assert CliRunner().invoke(app, ["validate", "job-2.yaml"]).exit_code == 0
    old, new = load(Path("job.yaml")), load(Path("job-2.yaml"))
    assert (old.name, old.spec.snapshots) == (new.name, new.spec.snapshots)
    assert old.spec.snapshots is not None
    changed = Path("job_2.py").read_text()
    assert changed != Path("job.py").read_text()
    assert 'F.lit(2).alias("version")' in changed
