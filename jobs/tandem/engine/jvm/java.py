"""The Java runtime: where it is and whether it is new enough."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from tandem.engine.jvm.errors import JavaMissingError

MINIMUM_VERSION = 17
_REMEDY = f"install Java {MINIMUM_VERSION} or newer, or set JAVA_HOME to one"


def java_executable() -> Path:
    """The `java` of JAVA_HOME if that is set, else the one on PATH.

    Raises `JavaMissingError` if there is none, or it is older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if found is None:
        raise JavaMissingError(f"no java on PATH and JAVA_HOME is not set: {_REMEDY}")
    where = f"{found} (from JAVA_HOME)" if home else found
    if not os.access(found, os.X_OK):
        raise JavaMissingError(f"{where} is not an executable file: {_REMEDY}")
    version = _version(found)
    if version is None:
        raise JavaMissingError(f"{where} does not tell its version: {_REMEDY}")
    if version < MINIMUM_VERSION:
        raise JavaMissingError(f"{where} is Java {version}: {_REMEDY}")
    return Path(found)


def parse_major_version(output: str) -> int | None:
    """The major version in the output of `java -version`: 8 of "1.8.0_392", 17 of "17.0.9", 22 of "22-ea"."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None


@functools.cache
def _version(java: str) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_major_version(answer.stderr + answer.stdout)
