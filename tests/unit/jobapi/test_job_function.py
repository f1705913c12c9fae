"""The job's module and function meet what a replica has, and an error of theirs says what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tandem.jobapi.errors import JobError
from tandem.jobapi.frozen_code import archive
from tandem.jobapi.job import call, load_function
from tandem.manifest import Code
from tandem.manifest.models import JobSpec


@pytest.fixture(autouse=True)
def modules_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    monkeypatch.setattr(sys, "argv", ["tandem", "--manifest", "job.yaml"])


def loaded(folder: Path, code: str, name: str = "job.py") -> Any:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    return load_function(JobSpec(file=name), archive({path.name: Code(path, code.encode())}, folder))


def called(folder: Path, code: str) -> object:
    context: Any = type("Context", (), {"sources": ()})()
    return call(loaded(folder, code), context, {})


PROGRAM = """
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("--topic", default="orders")
ARGUMENTS = parser.parse_args()
def job():
    return [ARGUMENTS.topic, parser.parse_args().topic, len(sys.argv), sys.argv[0].endswith("job.py")]
"""


def test_a_job_that_was_a_program_finds_no_arguments(tmp_path: Path) -> None:
    before = sys.argv

    assert called(tmp_path, PROGRAM) == ["orders", "orders", 1, True]
    assert sys.argv is before


RAISED = {
    "arguments that it needs": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--topic', required=True)\np.parse_args()",
        r"SystemExit: code 2 \(job.py:4\)\. A replica has no command line: give arguments defaults, or take them",
    ),
    "an argument": ("import sys\nTOPIC = sys.argv[1]", r"IndexError: .* \(job.py:2\)\. A replica has no command line"),
    "an end": ("import sys\nsys.exit(1)", r"SystemExit: code 1 \(job.py:2\)\. A replica runs on"),
    "a terminal": ("input = lambda *_: (_ for _ in ()).throw(EOFError('x'))\ninput()", "A replica has no terminal"),
    "a variable": ("import os\nos.environ['NO_SUCH']", r"KeyError: 'NO_SUCH' \(job.py:2\)\. Set the variable where"),
    "a package": ("import no_such", r"No module named 'no_such' \(job.py:1\)\. Install it where the replicas run"),
    "its own package": ("from .other import x", r"known parent package \(job.py:1\)\. Name the job by its package"),
    "a lock in a function": (
        "import pickle\npickle.dumps(lambda: 1)",
        r"PicklingError: .* \(job.py:2\)\. Spark sends the function with all that it uses",
    ),
    "a file": ("open('no-such.json')", r"'no-such.json' \(job.py:1\)\. Replicas run in any folder: begin paths with"),
}


@pytest.mark.parametrize(("code", "said"), RAISED.values(), ids=RAISED)
def test_what_a_module_does_not_find_is_said_with_what_to_do(tmp_path: Path, code: str, said: str) -> None:
    with pytest.raises(JobError, match=said):
        loaded(tmp_path, f"{code}\ndef job(): ...\n")


def test_a_function_is_told_the_same_as_its_module(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"the job raised ModuleNotFoundError: .* \(job.py:2\)\. Install it where"):
        called(tmp_path, "def job():\n    import no_such\n")


def test_an_error_of_the_job_itself_gets_no_advice(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"KeyError: 'x' \(job.py:2\)$"):
        called(tmp_path, "def job():\n    return {}['x']\n")


def test_a_function_that_takes_anything_is_given_its_sources_by_their_names() -> None:
    context: Any = type("Context", (), {"sources": ()})()

    def wrapped(*args: Any, **named: Any) -> object:
        return len(args), named["events"]

    def beside(events: Any, *args: Any) -> object:
        return len(args), events

    def in_order(*args: Any) -> object:
        return args

    frame: Any = object()
    assert call(wrapped, context, {"events": frame}) == (0, frame)
    assert call(beside, context, {"events": frame}) == (0, frame)
    with pytest.raises(
        JobError, match=r"takes its sources by their order only \(\*args\), .* parameters events; a decorator"
    ):
        call(in_order, context, {"events": frame})


OF_A_WORKER = """

  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "{folder}/rates.py", line 12, in taxed
    raise ValueError(f"no rate for {{key}}")
ValueError: no rate for EUR
"""


def test_of_what_a_worker_raised_the_reason_is_said_and_its_line(tmp_path: Path) -> None:
    code = f"""
from pyspark.errors import PythonException
def job():
    raise PythonException({OF_A_WORKER.format(folder=tmp_path)!r})
"""

    with pytest.raises(
        JobError, match=r"raised PythonException: ValueError: no rate for EUR \(rates.py:12\) \(job.py:4\)"
    ):
        called(tmp_path, code)
