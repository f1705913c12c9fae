"""What the installed PySpark brings along: its folder and its jars. Found without importing it, which would be slow."""

import importlib.util
from pathlib import Path

from tandem.engine.jvm.errors import JarsError


def spark_home() -> Path:
    """PySpark's own folder, whatever SPARK_HOME says."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError("pyspark is not installed in this environment: run `make setup`")
    return Path(spec.origin).parent


def pyspark_jars(*patterns: str) -> list[Path]:
    """PySpark's jars that match the glob patterns (given without `.jar`), in the order of the patterns.

    Raises `JarsError` if a pattern matches nothing.
    """
    folder = spark_home() / "jars"
    found: list[Path] = []
    for pattern in patterns:
        matches = sorted(folder.glob(f"{pattern}.jar"))
        if not matches:
            raise JarsError(f"no {pattern}.jar in {folder}: install pyspark 4.3.0 (`make setup`)")
        found += matches
    return found


LOGGING = ("slf4j-api-*", "log4j-slf4j2-impl-*", "log4j-api-*", "log4j-core-*")
