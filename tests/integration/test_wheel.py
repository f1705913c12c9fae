"""The wheel holds all that Tandem is: made, installed into an empty folder, and used without this checkout."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from integration.command import completed

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
WHERE = "import tandem, tandem_operator; print(tandem.__file__); print(tandem_operator.__file__)"


def run(*command: str, cwd: Path, **variables: str) -> str:
    done = completed([sys.executable, *command], cwd=cwd, env={**os.environ, **variables})
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def test_a_new_job_passes_its_own_tests_with_the_installed_wheel(tmp_path: Path) -> None:
    source, wheels, installed = tmp_path / "source", tmp_path / "wheels", tmp_path / "installed"
    for name in ("jobs", "operator"):
        made = shutil.ignore_patterns("__pycache__", "*.egg-info", ".venv")
        shutil.copytree(ROOT / name, source / name, ignore=made)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(source), cwd=tmp_path)
    (wheel,) = wheels.glob("tandem_stream-*.whl")
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(installed), str(wheel), cwd=tmp_path)

    # -S: without the links of this environment to the checkout; the packages that Tandem needs stay.
    path = os.pathsep.join([str(installed), sysconfig.get_paths()["purelib"]])
    places = run("-S", "-c", WHERE, cwd=tmp_path, PYTHONPATH=path).split()
    assert [Path(place).is_relative_to(installed) for place in places] == [True, True]
    assert "0.1.0" in run("-S", "-m", "tandem", "--version", cwd=tmp_path, PYTHONPATH=path)
    run("-S", "-m", "tandem", "new", "shop", cwd=tmp_path, PYTHONPATH=path)
    assert ": valid" in run("-S", "-m", "tandem", "validate", "shop/job.yaml", cwd=tmp_path, PYTHONPATH=path)
    said = run("-S", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path / "shop", PYTHONPATH=path)
    assert " passed" in said
