"""`tandem new` makes a job that is right as it is, and touches nothing that is there."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.cli.main import app
from tandem.devtools.addresses import Addresses, named_elsewhere
from tandem.devtools.new_job import make_job, rendered
from tandem.manifest import check_code, load

FILES = {"README.md", "job.py", "job.yaml", "orders.jsonl", "test_job.py"}


def new(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["new", *map(str, arguments)])


def test_a_new_job_is_valid(tmp_path: Path) -> None:
    result = new("shop", "--directory", tmp_path / "jobs")

    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "jobs" / "shop").iterdir()} == FILES
    told = CliRunner().invoke(app, ["validate", str(tmp_path / "jobs" / "shop" / "job.yaml")])
    assert (told.exit_code, told.stdout.partition(": ")[2]) == (
        0,
        "valid (shop, 2 replicas, leader, exactlyOnce, 1 source, 1 sink)\n",
    )


@pytest.mark.parametrize("name", ["123", "null", "true", "0x1f", "1e3", "2024-01-01"])
def test_a_name_that_yaml_takes_for_something_else_is_a_name(tmp_path: Path, name: str) -> None:
    job = load(make_job(name, tmp_path) / "job.yaml")

    assert (job.name, check_code(job)) == (name, ())


def test_its_servers_are_those_of_tandem_dev(tmp_path: Path) -> None:
    job = load(make_job("shop", tmp_path) / "job.yaml")

    assert check_code(job) == ()
    assert list(named_elsewhere(job, Addresses("127.0.0.1:9092", "127.0.0.1:2181"))) == []


def test_two_jobs_share_no_topic(tmp_path: Path) -> None:
    one, other = (load(make_job(name, tmp_path) / "job.yaml").spec for name in ("one", "other"))

    assert {one.sources[0].topics[0], one.sinks[0].topic}.isdisjoint({other.sources[0].topics[0], other.sinks[0].topic})


@pytest.mark.parametrize("command", [["format", "--check"], ["check", "--select", "B,E,F,I,PT,RUF,SIM,UP,W"]])
def test_its_code_is_formatted_and_clean(command: list[str], tmp_path: Path) -> None:
    folder = make_job("shop", tmp_path)

    ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", "--line-length", "120"]
    done = subprocess.run(ruff, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_of_the_template_is_left_in_the_files() -> None:
    assert not [name for name, text in rendered("shop").items() if "$" in text]


@pytest.mark.parametrize("name", ["Shop", "my_shop", "-shop", "a/b", ".", "shop.eu", "s" * 45])
def test_a_name_that_no_job_may_have_is_refused_with_what_to_use(name: str, tmp_path: Path) -> None:
    result = new("--directory", tmp_path, "--", name)

    assert result.exit_code == 2
    assert result.stderr.startswith("not made: the name ")
    assert "Use " in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "job.py").write_text("mine")

    result = new("shop", "--directory", tmp_path)

    assert result.exit_code == 2
    assert f"{tmp_path / 'shop'} is there already, and not an empty folder. Choose another name" in result.stderr
    assert [path.read_text() for path in (tmp_path / "shop").iterdir()] == ["mine"]


def test_a_file_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("mine")

    assert new("shop", "--directory", tmp_path).exit_code == 2
    assert (tmp_path / "shop").read_text() == "mine"


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()

    assert new("shop", "--directory", tmp_path).exit_code == 0
    assert {path.name for path in (tmp_path / "shop").iterdir()} == FILES


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    result = new("shop", "--directory", tmp_path / "file" / "jobs")

    assert result.exit_code == 1
    assert result.stderr.startswith("not made: ")


def test_the_wheel_takes_every_file_of_the_template() -> None:
    root = Path(__file__).parents[3]
    packed = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    files = list((root / "jobs" / "tandem" / "devtools" / "template").iterdir())

    assert len(files) == len(FILES)
    assert [file.name for file in files if not any(fnmatch(file.name, pattern) for pattern in packed)] == []
