"""What made a query fail, in words: what the job's own code raised, and the record that it raised it about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, StreamingQueryException, UnknownException

from tandem.jobapi.worker_errors import TRACEBACK, worker_error
from tandem.protocol.values import EpochRange

_OF_VALUES = (
    *("IllegalArgumentException", "NumberFormatException", "ArithmeticException", "DateTimeException"),
    *("RuntimeException", "SparkRuntimeException", "NoSuchElementException", "SparkNoSuchElementException"),
    *("IndexOutOfBoundsException", "ArrayIndexOutOfBoundsException", "StringIndexOutOfBoundsException"),
    *("NegativeArraySizeException", "NullPointerException", "StackOverflowError"),
)
"""What Java raises where an expression cannot take a value; some of Spark's own errors of that kind have no SQLSTATE."""
_OF_SETTINGS = ("spark.", "config")
_JAVA = re.compile(r"(?:java\.lang\.|java\.util\.(?=[A-Z]))?([\w.$]+)(?:: (.*))?")
_AT = re.compile(r"\n\s+at (?:[\w.]+/)?([\w.]+?)(?:\$[^(]*)?(?:\.[^.(]+)?\(")
_NO_MESSAGE = re.compile(r"terminated with exception:\s*(SQLSTATE: \w+)?\s*(\(no cause message\)|$)")

_OF_THE_JOB = re.compile(r"SQLSTATE: ((?:21|22|23|38|39|54|P0)\w{3})")
"""Classes of SQLSTATE, as Spark names them: 21 to 23 and 54, an expression cannot take these values; 38 and 39, a
function of the user raised; P0, `raise_error`."""

WRONG_SETTING = "[INVALID_CONF_VALUE"
"""What Spark says of a setting that it only looks at while it computes; its SQLSTATE is one of values."""

_OF_THE_PLAN = re.compile(
    r"\[(?:STATE_STORE_UNSUPPORTED_OPERATION\w*|UNSUPPORTED_FEATURE\.STATE_STORE\w*|TRANSFORM_WITH_STATE_SCHEMA_MUST_BE_NULLABLE)\]"
    r"|SQLSTATE: (?:0A000|42(?!K03|K04|K06|K0B)\w{3})\b"
)
"""What Spark says of a plan: 0A000, it has no such feature; 42, it means nothing; but for files (42K03, 42K04), settings
that a state was begun with (42K06), and values that Spark read otherwise in earlier versions (42K0B)."""

_FILES_MISSING = "SQLSTATE: 42K03"

_INIT_FAILED = "TransformWithStateInPySpark driver worker exited unexpectedly"
"""What Spark says where it cannot call the `init` of a stateful processor; what that raised is only in a cause of it."""

_FRAME = re.compile(r'== DataFrame ==\n"(\w+)" was called from\n([^\n]+):(\d+)')
_SQL = re.compile(r"== SQL [^\n]*==\n([^\n]*)\n( *)(\^+)")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
_LAMBDA = re.compile(r"(?<=\$\$Lambda)\$\d+\b")
"""The number that Java up to 20 gives the class of a lambda, another one in each JVM."""
_CRASH = re.compile(r"SparkException: ([^\n]+)")
_SHOWN = 100
"""Characters of a key or value."""


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The place of an input record, and as much of it as helps to find it."""

    topic: str
    partition: int
    offset: int
    key: str
    value: str

    @classmethod
    def of(cls, batch: pa.RecordBatch, row: int) -> Coordinates:
        """Those of a row of `batch`, see `batch.SCHEMA`."""
        place: dict[str, Any] = {name: batch[name][row].as_py() for name in ("topic", "partition", "offset")}
        return cls(**place, key=excerpt(batch["key"][row].as_py()), value=excerpt(batch["value"][row].as_py()))

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}, offset {self.offset} (key {self.key}, value {self.value})"


def job_fault(error: BaseException) -> str | None:
    """What the job's code raised about its input, in a line, the same in every replica; None if it is no such error."""
    text = str(error)
    match = _OF_THE_JOB.search(text)
    if not isinstance(error, StreamingQueryException) or WRONG_SETTING in text:
        return None
    if match is None:
        return _raised_by_init(error) if _INIT_FAILED in text else None
    before, _, after = text.partition(match[0])
    said = worker_error(text) if TRACEBACK in before else " ".join(before.split())
    if (frame := _FRAME.search(after)) is not None:
        said += f" (`{frame[1]}`, {Path(frame[2]).name}:{frame[3]})"
    elif (sql := _SQL.search(after)) is not None:
        said += f" (in `{sql[1][len(sql[2]) :][: len(sql[3])]}`)"
    return _lasting(said)


def record_fault(error: BaseException) -> str | None:
    """As `job_fault`, and what Java raised about a value without an SQLSTATE: `StackOverflowError`, say.

    Other causes than a record are possible then, so it takes a record that fails alone.
    """
    return job_fault(error) or _java_fault(error)


def java_error(error: BaseException) -> str | None:
    """`NullPointerException: text`: what Java raised first, in a line; None if nothing stands behind the error."""
    cause = _innermost(error)
    if cause is error:
        return None
    name, said = _named(cause)
    return f"{name}: {said}" if said else name


def _java_fault(error: BaseException) -> str | None:
    cause = _innermost(error)
    if not isinstance(error, StreamingQueryException) or cause is error:
        return None
    name, said = _named(cause)
    if name not in _OF_VALUES or "SQLSTATE" in said or any(word in said for word in _OF_SETTINGS):
        return None
    return java_error(error)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(cause := getattr(error, "_cause", None), BaseException):
        error = cause
    return error


def _named(cause: BaseException) -> tuple[str, str]:
    """Name and message of what Java raised, in a line: PySpark has a class for some, and writes the name of others."""
    text = " ".join(str(cause).partition("\n\nJVM stacktrace:")[0].split())
    name, said = type(cause).__name__, text
    if isinstance(cause, UnknownException) and (java := _JAVA.fullmatch(text)) is not None:
        name, said = java[1], java[2] or ""
    # Whether an expression is compiled makes the difference of Scala's words before it.
    return name, _lasting(said.removeprefix("requirement failed: "))


def plan_fault(error: BaseException) -> str | None:
    """What Spark has against the job's plan, in a line: it finds some of that out only when it plans or begins an epoch, and
    no record is the cause. None if it is no such error.
    """
    if not isinstance(error, StreamingQueryException) or job_fault(error) is not None:
        return None
    text = str(error).partition("\n\n=== Streaming Query ===")[0]
    if _OF_THE_PLAN.search(text) is None and (_FILES_MISSING in text or not _is_of_analysis(error)):
        return None
    return " ".join(text.partition("; Truncated plan")[0].split())


def _is_of_analysis(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, AnalysisException):
        error = getattr(error, "_cause", None)
    return error is not None


def is_of_init(error: BaseException) -> bool:
    """Whether the `init` of a stateful processor cannot be called: it concerns no record."""
    return _INIT_FAILED in str(error)


def is_of_module(error: BaseException) -> bool:
    """Whether a module is missing that the job's code imports: that is no fault of a record, whichever one is met first."""
    return (job_fault(error) or "").startswith("ModuleNotFoundError: ")


def any_fault(error: BaseException) -> str:
    """What stopped a query, in a line; of a task that failed, without its number."""
    text = str(error)
    crash = _CRASH.search(text)
    said = record_fault(error)
    if said is None and crash is None and _NO_MESSAGE.search(text.partition("\n")[0]) is not None:
        said = _named(_innermost(error))[0]
    at = _AT.search(getattr(_innermost(error), "_stackTrace", None) or "")
    if said == "StackOverflowError" and at is not None:
        said += f" in {at[1]}"
    return said or (crash[1] if crash is not None else text.partition("\n")[0])


def ranges(epoch: EpochRange) -> str:
    """`in/0 offsets 5 to 9, in/1 offset 3`: the records of an epoch."""
    parts = []
    for tp, end in epoch.ends.items():
        first, last = epoch.starts.get(tp, 0), end - 1
        if last >= first:
            offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
            parts.append(f"{tp.topic}/{tp.partition} {offsets}")
    return ", ".join(parts) or "no records"


def excerpt(content: bytes | None) -> str:
    """The beginning of a key or value, as text."""
    if content is None:
        return "null"
    text = repr(content[: 4 * _SHOWN].decode(errors="replace")[:_SHOWN])
    return text if len(content) <= _SHOWN else f"{text}… of {len(content)} bytes"


def _raised_by_init(error: BaseException) -> str | None:
    cause: BaseException | None = getattr(error, "_cause", None)
    while cause is not None:
        if TRACEBACK in (text := str(cause)):
            return _lasting(worker_error(text))
        cause = getattr(cause, "_cause", None)
    return None


def _lasting(text: str) -> str:
    """Without what differs between processes: a replica's dead letters have the same text as those of the others."""
    return _ADDRESS.sub("0x…", _LAMBDA.sub("", text))
