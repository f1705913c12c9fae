"""Spark's own resolver, run by itself: it knows mirrors, proxies and the user's `spark-defaults.conf`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tandem.engine.jvm.errors import JarsError
from tandem.engine.jvm.java import java_executable
from tandem.engine.jvm.pyspark_files import spark_home
from tandem.process.child import ChildProcess, Command
from tandem.waiting import Deadline


def resolve_packages(coordinates: Sequence[str], work: Path, log_file: Path, deadline: Deadline) -> Path:
    """Download packages and all they need into a folder under `work`, and return that folder. Its output goes to `log_file`.

    `spark-submit` does it before it starts an application; the application given here does nothing. It runs in a process of
    its own, so it never disturbs a SparkSession of the caller.

    Raises `JarsError` if the resolver fails or takes too long; with the end of its output; `JavaMissingError` if there
    is no Java 17.
    """
    java_executable()  # complains clearly; spark-submit looks for Java in the same places
    application = work / "nothing.py"
    application.write_text("")
    settings = {
        "spark.jars.ivy": str(work / "ivy"),
        "spark.jars.packages": ",".join(coordinates),
        "spark.log.level": "WARN",
    }
    submit = (str(spark_home() / "bin" / "spark-submit"), "--master", "local[1]")
    options = (word for key, value in settings.items() for word in ("--conf", f"{key}={value}"))
    env = {"SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
    command = Command((*submit, *options, str(application)), log_file, env)
    _run(command, coordinates, deadline)
    return work / "ivy" / "jars"


def _run(command: Command, coordinates: Sequence[str], deadline: Deadline) -> None:
    process = ChildProcess("the resolver", command)
    try:
        process.wait(deadline.remaining_s)
        if process.running:
            raise JarsError(f"no answer in time while fetching {', '.join(coordinates)}: {process.story()}")
        if process.exit_code != 0:
            raise JarsError(
                f"Spark could not fetch {', '.join(coordinates)}: check the network, or name a mirror's settings as "
                f"spark.jars.ivySettings in spark-defaults.conf. In detail: {process.story()}"
            )
    finally:
        process.kill()
