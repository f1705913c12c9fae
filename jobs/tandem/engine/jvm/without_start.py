"""What Spark's JVM says when it does not start: PySpark only says that it did not."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tandem.engine.jvm.pyspark_files import spark_home

_MOST_S: Final = 120.0
"""Resolving packages waits for repositories that do not answer."""


def said_without_start(settings: Mapping[str, str]) -> str:
    """What `spark-submit` with these settings prints, which PySpark starts its JVM by; "" if that cannot be found out.

    It is started once more. If it does start this time, it ends at once: nobody holds its standard input.
    """
    command = [str(Path(spark_home()) / "bin" / "spark-submit")]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(Path(folder, "port"))}
        try:
            done = subprocess.run(
                [*command, "pyspark-shell"],
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_MOST_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    return (done.stdout + done.stderr).decode(errors="replace")
