"""A module of the tests has one name: its path below `tests/`, as in `from integration.engine import Job`.

Under a second name it would run twice, with two of each class and two of each setting.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
FOLDERS = {folder.name for folder in TESTS.iterdir()}
FILES = sorted(TESTS.rglob("*.py"))
BARE = ({file.stem for file in FILES} | {file.parent.name for file in FILES}) - FOLDERS
"""First parts that no name of a module of the tests has; a package from elsewhere may be called so."""


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """What a file imports, with the lines."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def is_second_name(name: str) -> bool:
    """Whether a module of the tests is meant, and not by its path below `tests/`."""
    first = name.partition(".")[0]
    if first in BARE:
        found = importlib.util.find_spec(first)
        return found is None or TESTS in Path(found.origin or "/").parents
    return first in ("", "tests")


def test_no_module_of_the_tests_is_loaded_under_two_names() -> None:
    names = defaultdict(set)
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        if TESTS in file.parents:
            names[file].add(name)

    assert names[Path(__file__)] == {__name__}
    assert {str(file): found for file, found in names.items() if len(found) > 1} == {}


def test_tests_import_each_other_by_the_path_below_the_folder_of_tests() -> None:
    found = [
        f"{file.relative_to(TESTS)}:{line} {name}"
        for file in FILES
        for line, name in imported(file)
        if is_second_name(name)
    ]

    assert found == []
