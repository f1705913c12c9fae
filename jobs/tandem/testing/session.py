"""One session of Spark for all tests of a process: started as a replica starts its own, and kept while the settings fit."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from tandem.engine.jvm.classes import classes_jar
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.session import LASTING_TASKS, build_session, settings_of
from tandem.manifest import Manifest

_OF_A_PROCESS: Final = (
    *("spark.app.name", "spark.local.dir", "spark.sql.warehouse.dir", "spark.master", "spark.python.daemon.module"),
    *("spark.driver.memory", "spark.driver.extraClassPath", "spark.driver.extraJavaOptions"),
)
"""Settings that may be others: they change no row, or the JVM has been started with them."""


def session_for(manifest: Manifest) -> SparkSession:
    """The session of this process, if it has the settings of the job; else a new one, which takes some seconds.

    Raises `RuntimeError`: there is a session that was not made here. `JobError`: Spark refuses a setting.
    """
    if SparkContext._active_spark_context is not None:
        running = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        misfit = _misfit(running, manifest)
        if not misfit:
            return running
        if running.sparkContext is not _made.get("context"):
            raise RuntimeError(
                f"a session of Spark runs in this process already, and {misfit}. Stop it before (`spark.stop()`), or run "
                "these tests in a process of their own"
            )
        stop_session()
    return _start(manifest)


def stop_session() -> None:
    """Stop the session that tests of jobs have left running, if there is one. The next test starts another."""
    context = _made.pop("context", None)
    if context is not None and context is SparkContext._active_spark_context:
        SparkSession.builder.getOrCreate().stop()
    folder = _made.pop("folder", None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def memory_folder() -> Path:
    """A new folder, in memory where there is such a file system, as a replica's checkpoint has it."""
    memory = Path("/dev/shm")  # noqa: S108
    return Path(tempfile.mkdtemp(prefix="tandem-testing-", dir=memory if memory.is_dir() else None))


def _start(manifest: Manifest) -> SparkSession:
    folder = Path(tempfile.mkdtemp(prefix="tandem-testing-session-"))
    session = build_session("testing", "replica-0", manifest.spark, file_system_jar(), folder, slots=_slots(manifest))
    _made.update(context=session.sparkContext, folder=folder)
    return session


_made: dict[str, Any] = {}
atexit.register(stop_session)


def _misfit(session: SparkSession, manifest: Manifest) -> str:
    """Why a session is none for the job; "": it is one."""
    has = dict(session.sparkContext.getConf().getAll())
    if str(classes_jar()) not in has.get("spark.driver.extraClassPath", ""):
        return "Tandem did not start it"
    spark = manifest.spark
    wanted = settings_of("", "", spark, Path(), Path())
    for name in sorted(wanted.keys() - set(_OF_A_PROCESS)):
        if has.get(name) != wanted[name]:
            return f"its {name} is {has.get(name)}, but the job's is {wanted[name]}"
    needed = max(spark.parallelism, _slots(manifest))
    if _tasks(has) < needed:
        return f"it runs {_tasks(has)} tasks at a time, and the job needs {needed}"
    return ""


def _slots(manifest: Manifest) -> int:
    """Tasks at a time, if it is another number than the job's parallelism; as in `SparkRuntime.prepare`."""
    return 0 if manifest.spec.engine == "microBatch" else LASTING_TASKS


def _tasks(settings: dict[str, str]) -> int:
    number = settings.get("spark.master", "").removeprefix("local[").removesuffix("]")
    return int(number) if number.isdigit() else 1


def archives() -> Path:
    """A folder for archives of jobs' code, for as long as this process lives: Python workers read from them."""
    if "archives" not in _made:
        _made["archives"] = Path(tempfile.mkdtemp(prefix="tandem-testing-code-"))
        atexit.register(shutil.rmtree, _made["archives"], ignore_errors=True)
    return Path(_made["archives"])
