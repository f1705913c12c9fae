"""A Spark session for epochs: settings that make them cheap, and those without which replicas would differ."""

import hashlib
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tandem.engine import environment
from tandem.engine.executors import EXECUTOR_DEFAULTS, Executors
from tandem.engine.jvm.classes import classes_jar
from tandem.engine.jvm.pyspark_files import pyspark_jars, spark_home
from tandem.engine.jvm.without_start import said_without_start
from tandem.engine.memory import EXIT_ON_OUT_OF_MEMORY
from tandem.engine.refused_settings import blaming
from tandem.engine.stacks import DAEMON
from tandem.jobapi.errors import JobError
from tandem.logs import get_logger
from tandem.manifest import SparkSpec
from tandem.manifest.spark_settings import fixed_settings

_log = get_logger(__name__)

_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

_CHEAP = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.liveUpdate.period": "-1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.locality.wait": "0",
    # An epoch has few rows: compiling code for it costs more than interpreting it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Another job of Spark's in each epoch, to read less of it: a stream counts as large.
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.rdd.compress": "false",
    "spark.cleaner.periodicGC.interval": "30min",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.stateStore.commitValidation.enabled": "false",
    # How often a full copy of changed state is made; what was changed since is applied one by one when it is loaded.
    "spark.sql.streaming.stateStore.maintenanceInterval": "5s",
}

_JVM = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m {EXIT_ON_OUT_OF_MEMORY}"
"""One small heap on one core; the JVM ends when that is full, see `memory`. Without C2, whose compilations take a minute of
a core that the first epochs need."""

_EXTENSIONS = "spark.sql.extensions"

ARCHIVE_PREFIX = "spark-classes-"

_DEFAULTS = {**_CHEAP, "spark.sql.session.timeZone": "UTC"}
"""What a job may set otherwise."""

_LOOPBACK = "127.0.0.1"
_OURS = {
    # The default file manager starts a shell process per file; the checkpoint is a cache in memory.
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": _MANAGER,
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    # The real-time engine's source and sink are Tandem's own, its batches end behind barriers, and a task is one scan's.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.streaming.realTimeMode.asyncProgressTrackingByDefault.enabled": "false",
    # Spark fears state of a batch that failed; a replica goes on from what a committed batch left, and nothing else.
    "spark.sql.streaming.realTimeMode.dangerouslyAllowCheckpointV1.enabled": "true",
    "spark.sql.unionOutputPartitioning": "false",
}

LASTING_TASKS = 64
"""So many tasks may run at a time where some of them last as long as their query: one for each scan."""


def archive_of(file_system_jar: Path, classes: Path) -> Path:
    """Where the archive of Spark's and Tandem's classes is, if there is one: see `class_archive`.

    It fits one Java and one installation of PySpark and Tandem, down to the files' times, so its name tells these apart.
    """
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "")
    files = (java.resolve(), *pyspark_jars("spark-core_*"), file_system_jar, classes)
    versions = " ".join(f"{path} {int(path.stat().st_mtime)}" for path in files if path.is_file())
    return file_system_jar.with_name(f"{ARCHIVE_PREFIX}{hashlib.sha256(versions.encode()).hexdigest()[:10]}.jsa")


def build_session(
    job: str,
    replica: str,
    spark: SparkSpec,
    file_system_jar: Path,
    scratch: Path,
    use_archive: bool = True,
    executors: Executors | None = None,
    slots: int = 0,
    java_files: Path | None = None,
) -> SparkSession:
    """Start the JVM and a session.

    The user's `spark.conf` wins over defaults. What cannot be obeyed the manifest's rules refuse, from the same tables
    (`tandem.manifest.spark_settings`). The user's options of the JVM come last, e.g. `-XX:TieredStopAtLevel=4` for a job
    that computes a lot. With `executors`, these are asked for; nobody waits for them here. `slots`: how many tasks may run
    at a time on this machine, if it is another number than the job's parallelism. `java_files`: a folder for what the JVM
    leaves behind if it is killed, None: where it puts that by itself.

    Raises `JobError`: Spark refuses a setting of `spark.conf`, or would not start on this machine. `PackagesError`.
    """
    _check_loopback()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    classes = classes_jar()
    archive = shared_classes(archive_of(file_system_jar, classes)) if use_archive else ""
    settings = settings_of(job, replica, spark, file_system_jar, scratch, archive, executors)
    if slots:
        settings["spark.master"] = f"local[{slots}]"
    if java_files is not None:
        name = "spark.driver.extraJavaOptions"
        settings[name] = f'"-Djava.io.tmpdir={java_files}" {settings[name]}'
    settings["spark.driver.extraClassPath"] += f"{os.pathsep}{classes}"
    zone = settings["spark.sql.session.timeZone"]
    for name, instead in environment.settle(os.environ, spark_home(), zone):
        _log.warning("environment_overruled", variable=name, remedy=instead)
    time.tzset()
    builder = SparkSession.Builder()
    for name, value in settings.items():
        builder = builder.config(name, value)
    with blaming(spark.conf, lambda: said_without_start(settings), spark.driver_memory):
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel(spark.conf.get("spark.log.level", "ERROR"))
        hadoop = session.sparkContext._jsc.hadoopConfiguration()
        ours: Any = session._jvm.tandem  # type: ignore[union-attr]
        ours.LinkingFileSystem(hadoop)
        ours.LeanConfiguration(hadoop)
        if spark.parallelism == 1:
            session._jsparkSession.extensions().injectColumnar(ours.OnePartition())
        else:
            session._jsparkSession.extensions().injectColumnar(ours.ShuffleOrder())
        if slots:
            session._jsparkSession.extensions().injectColumnar(ours.ReadToEnd())
        session._jsparkSession.extensions().injectPlannerStrategy(getattr(ours, "EpochStrategy$OfSession")())
        session._jsparkSession.sessionState()  # made at its first use, which reads the settings
        session._jsparkSession.streams()  # so are its listeners
        _check_extensions(session, spark.conf.get(_EXTENSIONS, ""))
    return session


def settings_of(
    job: str,
    replica: str,
    spark: SparkSpec,
    file_system_jar: Path,
    scratch: Path,
    archive: str = "",
    executors: Executors | None = None,
) -> dict[str, str]:
    """All settings that a session starts with. With `executors`, their pods' template is written into `scratch`."""
    settings = {
        **_DEFAULTS,
        **({"spark.python.daemon.module": DAEMON} if executors is None else EXECUTOR_DEFAULTS),
        **spark.conf,
        **fixed_settings(spark.conf),
        **_OURS,
        "spark.app.name": f"{job}/{replica}",
        "spark.master": f"local[{spark.parallelism}]",
        "spark.driver.memory": spark.driver_memory,
        "spark.driver.extraClassPath": str(file_system_jar),
        "spark.driver.extraJavaOptions": _java_options(spark.conf, "driver", archive),
        "spark.default.parallelism": str(spark.parallelism),
        "spark.sql.shuffle.partitions": str(spark.parallelism),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    if executors is not None:
        python_path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(Path.cwd())])
        settings |= executors.settings(file_system_jar, _java_options(spark.conf, "executor"), python_path, scratch)
        settings["spark.master"] = executors.master
        settings.setdefault("spark.executorEnv.TZ", environment.local_zone(settings["spark.sql.session.timeZone"]))
    return settings


def _check_loopback() -> None:
    """Where the machine has no 127.0.0.1, the JVM would not start, and say so in the middle of a trace of Java's."""
    try:
        with socket.socket(socket.AF_INET) as probe:
            probe.bind((_LOOPBACK, 0))
    except OSError as error:
        raise JobError(
            f"this machine has no {_LOOPBACK} ({error}), where PySpark and its JVM look for each other; all else does with "
            "IPv6 alone. Pods have it, also those of an IPv6 cluster. Elsewhere: ip address add 127.0.0.1/8 dev lo"
        ) from error


def _check_extensions(session: SparkSession, given: str) -> None:
    """Raise `JobError` for a class that is not there: Spark passes over it in silence."""
    utils = session._jvm.org.apache.spark.util.Utils  # type: ignore[union-attr]
    for name in filter(None, map(str.strip, given.split(","))):
        if not utils.classIsLoadable(name):
            raise JobError(
                f"there is no class {name}, which spec.spark.conf[{_EXTENSIONS}] names. Correct the name, or add its "
                "package to spark.jars.packages or its file to spark.jars"
            )


def _java_options(conf: Mapping[str, str], process: str, more: str = "") -> str:
    chosen = conf.get(f"spark.{process}.extraJavaOptions")
    # The JVM starts with one collector only.
    ours = _JVM.replace("-XX:+UseSerialGC ", "") if re.search(r"-XX:\+Use\w+GC\b", chosen or "") else _JVM
    options = (ours, environment.JVM, more, chosen)
    return " ".join(option for option in options if option)


def shared_classes(archive: Path) -> str:
    """Options of the JVM that use the archive, which counts as used then; the JVM says nothing if it does not fit."""
    if not archive.is_file():
        _log.info(
            "no_class_archive",
            effect="this start takes some seconds longer, and a third of its processor time more",
            remedy=f"once on this machine: {sys.executable} -m tandem.engine.class_archive",
        )
        return ""
    with suppress(OSError):  # a read-only folder
        os.utime(archive)
    return f'"-XX:SharedArchiveFile={archive}" -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off'
