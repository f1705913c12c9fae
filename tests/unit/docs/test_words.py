"""Texts and code use the words of the field: `make words` finds those of .ci/words, each of which has a better one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from alerts.rules import ROOT

LISTS = sorted((ROOT / ".ci" / "words").glob("*.txt"))
WORDS = [(path, line.partition("->")[0]) for path in LISTS for line in path.read_text().splitlines()]


def found(dictionary: Path, text: Path) -> str:
    command = [sys.executable, "-m", "codespell_lib", "--dictionary", str(dictionary), str(text)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_no_text_has_such_a_word() -> None:
    done = subprocess.run(["make", "-s", "words"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_each_word_of_a_list_is_found(path: Path, tmp_path: Path) -> None:
    words = [word for of, word in WORDS if of == path]
    text = tmp_path / "page.md"
    text.write_text("".join(f"You {word} it.\n" for word in words))

    lines = found(path, text)

    assert [word for word in words if f" {word} ==> " not in lines] == []


def test_a_word_in_code_quotes_is_a_name_and_stays(tmp_path: Path) -> None:
    text = tmp_path / "page.md"
    text.write_text("The field `status.wishes`.\n")

    assert all(found(path, text) == "" for path in LISTS)
