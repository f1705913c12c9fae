"""`Message.headers()` ends the process where a header's name is no UTF-8: `tandem.kafka.headers` alone calls it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAFE = ROOT / "jobs/tandem/kafka/headers.py"
FOLDERS = ("jobs", "operator", "bench", "tests")
BY_NAME = ("getattr", "methodcaller", "attrgetter")
"""What takes a method by its name."""


def calls(code: str) -> Iterator[int]:
    """The lines that call a message's method `headers`, or take it to call it."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Attribute(attr="headers"), args=[], keywords=[]):
                yield node.lineno
            case ast.Attribute(value=ast.Name(id="Message"), attr="headers"):
                yield node.lineno
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in BY_NAME:
                if any(isinstance(arg, ast.Constant) and arg.value == "headers" for arg in args):
                    yield node.lineno


@pytest.mark.parametrize(
    "code",
    [
        "message.headers()",
        "[m.headers() for m in consumer.consume(10)]",
        "consumer.poll(1).headers() or ()",
        "map(Message.headers, messages)",
        "map(methodcaller('headers'), messages)",
        "operator.methodcaller('headers')(message)",
        "getattr(message, 'headers')()",
    ],
)
def test_each_way_to_call_it_is_found(code: str) -> None:
    assert list(calls(code)) == [1]


@pytest.mark.parametrize("code", ["record.headers", "answer.headers.get('x')", "headers_of(message)", "headers()"])
def test_what_only_has_that_name_is_not(code: str) -> None:
    assert list(calls(code)) == []


def test_nobody_else_calls_it() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path != SAFE]

    assert SAFE.exists()
    assert len(files) > 500
    assert [f"{path.relative_to(ROOT)}:{line}" for path in files for line in calls(path.read_text())] == []
