"""Which of the user's settings is to blame when Spark does not start, or does not go on, in words."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from tandem.jobapi.errors import JobError

_EVENT_LOGS: Final = "/tmp/spark-events"  # noqa: S108 - Spark's own
_NAMES: Final = re.compile(r"(?=.*[A-Za-z]{2})(?:.*[/.]|.*[A-Z].*[A-Z])")
"""Values that are found in a message are files and classes, not numbers and truth values; others only in quotes."""
_RESOLVER: Final = "org.apache.spark.util.MavenUtils"
_PACKAGES: Final = "spark.jars.packages"
_REFUSED: Final = re.compile(
    r"\[(?:INVALID_CONF_VALUE|CODEC_NOT_AVAILABLE|CODEC_SHORT_NAME_NOT_FOUND)[.\w]*\][^\n]*|Invalid value for 'spark[^\n]*"
)

_NO_HEAP: Final = re.compile(r"heap size|object heap", re.I)
"""What a JVM says that cannot have the heap it is asked for."""


class PackagesError(JobError):
    """The packages that the manifest names are not to be had: they are wrong, or their repository is away."""


@contextmanager
def blaming(given: Mapping[str, str], said_by_jvm: Callable[[], str] = lambda: "", heap: str = "") -> Iterator[None]:
    """Raise `JobError` where Spark refuses a setting that the user gave; `PackagesError`.

    `said_by_jvm` : what Spark's JVM says that does not start.
    `heap` : how large a heap it is asked for.
    """
    try:
        yield
    except JobError:
        raise
    except Exception as error:
        text = f"{error} {getattr(error, 'java_exception', '')} {getattr(error, '_stackTrace', '')}"
        if "JAVA_GATEWAY_EXITED" in text:
            _blame_for_no_jvm(given, said_by_jvm(), heap, error)
            raise
        blamed = [name for name in given if name in text]
        lines = [line.strip(": ").removeprefix("Caused by: ") for line in text.splitlines()]
        said = next((line for line in reversed(lines) if any(name in line for name in blamed)), "")
        if not said:
            blamed, said = _blamed_by_value(given, lines)
        if not said:
            raise
        raise _refusal(blamed, said) from error


def refused_later(given: Mapping[str, str], error: BaseException) -> JobError | None:
    """What Spark says of a setting that it only looks at while it computes; None if it is not about one that was given."""
    said = _REFUSED.search("\n".join(_causes(error)))
    if said is None:
        return None
    words = said[0].strip()
    blamed = [name for name in given if name.lower() in words.lower()]
    blamed = blamed or [name for name, value in given.items() if "codec" in name and f" {value} " in words]
    return _refusal(blamed, words) if blamed else None


def _causes(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield str(error)
        error = getattr(error, "_cause", None)


def _refusal(blamed: Sequence[str], said: str) -> JobError:
    named = ", ".join(f"spec.spark.conf[{name}]" for name in blamed)
    return JobError(f"Spark refuses {named}: {said}. Correct the value, or remove it")


def _blame_for_no_jvm(given: Mapping[str, str], said: str, heap: str, error: Exception) -> None:
    words = _first_words(said)
    if heap and _NO_HEAP.search(words):
        raise JobError(
            f"Spark's JVM does not start with a heap of {heap} (spec.spark.driverMemory): {words}. Lower it, or let the "
            "replica have more memory"
        ) from error
    if _RESOLVER in said and _PACKAGES in given:
        raise PackagesError(
            f"the packages of spec.spark.conf[{_PACKAGES}] are not to be had: {words}. Correct them; or let this machine "
            "reach their repository, which may be another one (spark.jars.repositories); or have their files where the "
            "replicas run, and name these in spark.jars"
        ) from error
    of_jvm = [name for name in given if name.startswith("spark.driver.") and name.endswith("JavaOptions")]
    named = [name for name in given if name in words]
    blamed = named or of_jvm or _blamed_by_value(given, said.splitlines())[0]
    if blamed:
        raise _refusal(
            blamed, f"the JVM does not start; {words or 'it says why on standard error'}".rstrip(".")
        ) from error


def _first_words(said: str) -> str:
    """The line with which a JVM ends that does not start."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("Error: Could not create the Java Virtual Machine"):
            return before
        if before.startswith("Error occurred during initialization of VM"):
            return line
        if line.startswith('Exception in thread "main" '):
            return re.sub(r'^Exception in thread "main" [\w.$]+: (?:requirement failed: )?', "", line)
    return ""


def _blamed_by_value(given: Mapping[str, str], lines: Sequence[str]) -> tuple[list[str], str]:
    """The settings of which Spark names the value only, a class or a file, and the line that does."""
    values = dict(given)
    if "spark.eventLog.enabled" in given:
        values.setdefault("spark.eventLog.dir", _EVENT_LOGS)
    parts = {name: [part.strip() for part in value.split(",")] for name, value in values.items()}
    for line in lines:
        blamed = [name for name, some in parts.items() if any(_is_named(part, line) for part in some)]
        if blamed:
            return blamed, line
    return [], ""


def _is_named(value: str, line: str) -> bool:
    said = (f"`{value}`", f"ClassNotFoundException: {value}")
    return any(words in line for words in said) or (_NAMES.search(value) is not None and value in line)
