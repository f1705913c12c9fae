"""A limit that somebody else has set on the container, as a LimitRange does, is known and named."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from tandem.engine.memory import JvmEndedError, explained, memory_limit, too_small

MIB = 2**20


@pytest.mark.parametrize(
    ("file", "told", "limit"),
    [
        ("memory.max", "536870912\n", 512 * MIB),
        ("memory.max", "max\n", None),
        ("memory/memory.limit_in_bytes", "536870912\n", 512 * MIB),
        ("memory/memory.limit_in_bytes", "9223372036854771712\n", None),
        ("cpu.max", "1\n", None),
    ],
)
def test_the_limit_is_read_as_both_versions_of_cgroups_write_it(
    tmp_path: Path, file: str, told: str, limit: int | None
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(told)

    assert memory_limit(tmp_path) == limit


def test_only_a_limit_that_a_full_heap_exceeds_is_worth_a_word() -> None:
    assert too_small("1g", None) == ""
    assert too_small("1g", 1408 * MIB) == ""
    said = too_small("1g", 512 * MIB)
    assert said.startswith("this container may use 512Mi of memory, by spec.resources.limits.memory or a LimitRange")
    assert "needs 1408Mi or more" in said


def test_a_jvm_that_was_killed_in_such_a_container_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = SimpleNamespace(proc=SimpleNamespace(poll=lambda: -signal.SIGKILL, wait=lambda _: None))
    monkeypatch.setattr(SparkContext, "_gateway", killed)

    found = explained(RuntimeError("gone"), "1g", None, too_small("1g", 512 * MIB))
    assert isinstance(found, JvmEndedError)
    assert "; this container may use 512Mi of memory" in str(found)


def test_so_does_one_that_was_killed_while_it_started() -> None:
    said = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."

    found = explained(RuntimeError(said), "1g", None, too_small("1g", 256 * MIB))
    assert str(found).startswith("Spark's JVM ended before it could be used; this container may use 256Mi of memory")
    error = RuntimeError(said)
    assert explained(error, "1g", None) is error
