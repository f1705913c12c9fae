"""Which modules a job's code imports, by its text: those of the user, wherever the import stands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tandem.engine.imported import modules_of
from tandem.jobapi.frozen_code import archive, sources
from tandem.manifest import Code
from tandem.manifest.models import JobSpec


def made(folder: Path, texts: dict[str, str]) -> Path:
    """An archive of modules, by their places."""
    folder.mkdir(exist_ok=True)
    return archive({place: Code(folder / place, text.encode()) for place, text in texts.items()}, folder)


JOB = JobSpec(file="job.py")


def test_the_archive_gives_back_what_it_was_made_of(tmp_path: Path) -> None:
    texts = {"job.py": "a = '\\''\r\n", "words/__init__.py": "", "words/more.py": "# ü\n"}

    assert sources(made(tmp_path, texts)) == {place: text.encode() for place, text in texts.items()}
    assert sources(tmp_path / "missing.zip") == {}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import json, pricing", {"pricing"}),
        ("from pricing import price", {"pricing"}),
        ("def job(events):\n    from pricing import price\n    return events", {"pricing"}),
        ("if True:\n    import words.long as w", {"words", "words.long", "pricing"}),
        ("from words import long", {"words", "words.long", "pricing"}),
        ("from words import *", {"words"}),
        ("import job", set()),
        ("import broken", {"broken"}),
        ("def broken(:", set()),
        ("", set()),
    ],
)
def test_modules_that_are_imported_anywhere_and_what_they_import(tmp_path: Path, code: str, found: set[str]) -> None:
    texts = {
        "job.py": code,
        "pricing.py": "RATE = 1",
        "unused.py": "",
        "broken.py": "def (",
        "words/__init__.py": "",
        "words/long.py": "from . import short\nfrom .. import nothing\nimport pricing",
    }

    assert set(modules_of(JOB, made(tmp_path, texts))) == found


def test_another_text_is_another_hash_and_only_there(tmp_path: Path) -> None:
    texts = {"job.py": "import a, b", "a.py": "x = min", "b.py": ""}
    one, other = (modules_of(JOB, made(tmp_path / name, {**texts, "a.py": f"x = {name}"})) for name in ("min", "max"))

    assert one["a"] != other["a"]
    assert one["b"] == other["b"]


def test_modules_beside_that_of_a_job_in_a_package_are_found_without_importing_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "myjobs"
    (package / "tools").mkdir(parents=True)
    texts = {
        "__init__": "",
        "orders": "from myjobs.tools import rates\nimport other",
        "tools/__init__": "",
        "tools/rates": "1 / 0",
    }
    for place, text in texts.items():
        (package / f"{place}.py").write_text(text)
    (package.parent / "other.py").write_text("")
    monkeypatch.syspath_prepend(str(package.parent))
    for name in ("myjobs", "myjobs.orders", "other"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    __import__("myjobs")
    try:
        assert set(modules_of(JobSpec(module="myjobs.orders"), tmp_path)) == {
            "myjobs",
            "myjobs.tools",
            "myjobs.tools.rates",
        }
        assert "myjobs.tools" not in sys.modules
    finally:
        sys.modules.pop("myjobs", None)


def test_python_spark_and_tandem_are_not_the_user_s(tmp_path: Path) -> None:
    texts = {"job.py": "import json, pyspark.sql, tandem.manifest, pandas\nfrom tandem.examples.orders import job"}
    __import__("tandem.manifest")

    assert all(name.startswith("tandem.examples") for name in modules_of(JOB, made(tmp_path, texts)))
