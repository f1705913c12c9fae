"""The jars of Kafka and of Spark's fast local file system, resolved once into a cache folder."""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tandem.engine.jvm.errors import JarsError
from tandem.engine.jvm.pyspark_files import LOGGING, pyspark_jars
from tandem.engine.jvm.resolver import resolve_packages
from tandem.waiting import Deadline, wait_until

KAFKA = "org.apache.kafka:kafka_2.13:4.3.1"
LOCAL_FILE_SYSTEM = "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"
RESOLVE_DEADLINE_S = 600.0
READY = "TANDEM_SPARK_JARS"
"""The variable that names a folder with the jar of Spark's file system, ready for use."""

_FOLDER = "jars-kafka-4.3.1"
_INVENTORY = "inventory.json"  # name → bytes of every jar; written last, so its presence says that the folder is whole
_TEMPORARY = "resolving-"


@dataclass(frozen=True)
class Jars:
    """A folder of resolved jars."""

    folder: Path

    @staticmethod
    def resolve(cache: Path | None = None, deadline_s: float = RESOLVE_DEADLINE_S) -> "Jars":
        """Return the jars of the cache, downloading them first if they are missing or damaged (about 20 s, 40 MB).

        Safe to call from several processes at once: one of them downloads, the others wait for it.

        `cache` : folder to keep them in; by default `$TANDEM_CACHE`, else `~/.cache/tandem`.

        Raises `JarsError` if the resolver fails; with the end of its output; `JavaMissingError` if there is no Java 17.
        """
        cache = (default_cache() if cache is None else cache).absolute()
        jars = Jars(cache / _FOLDER)
        if jars.complete:
            return jars
        deadline = Deadline(deadline_s)
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / f"{_FOLDER}.lock", deadline):
            if not jars.complete:
                _install(cache, jars.folder, deadline)
        return jars

    @property
    def complete(self) -> bool:
        """Whether every jar of the inventory is there in its full length."""
        try:
            inventory: dict[str, int] = json.loads((self.folder / _INVENTORY).read_text())
            return all((self.folder / name).stat().st_size == size for name, size in inventory.items())
        except (OSError, ValueError):
            return False

    def kafka_classpath(self) -> str:
        """Class path of a Kafka broker.

        The resolver leaves out Scala, which Spark has itself. Kafka's slf4j 1.7 comes without a binding and would log
        nothing; PySpark's slf4j 2, put first, has one.
        """
        return os.pathsep.join([*map(str, pyspark_jars("scala-library-2.13*", *LOGGING)), str(self.folder / "*")])

    def spark_classpath(self) -> Path:
        """The jar for `spark.driver.extraClassPath` that holds `BareLocalFileSystem`."""
        return spark_classpath(self.folder)


def spark_classpath(jars_dir: Path) -> Path:
    """The jar in `jars_dir` for `spark.driver.extraClassPath` that holds `BareLocalFileSystem`.

    Raises `JarsError` if it is not there.
    """
    group, artifact, version = LOCAL_FILE_SYSTEM.split(":")
    jar = jars_dir / f"{group}_{artifact}-{version}.jar"
    if not jar.is_file():
        remedy = f"delete {jars_dir} and run `make setup`, or let ${READY} name a folder that has it"
        raise JarsError(f"{jar} is missing: {remedy}")
    return jar


def file_system_jar() -> Path:
    """The one jar that a replica needs beside Spark's own: the file system of its checkpoint.

    It is in the folder that `$TANDEM_SPARK_JARS` names, if that is set: an image has it there, and needs neither a network
    nor a place to write. Else it is in the cache, with Kafka's.

    Raises what `Jars.resolve` and `spark_classpath` raise.
    """
    ready = os.environ.get(READY)
    return spark_classpath(Path(ready)) if ready else Jars.resolve().spark_classpath()


def install_file_system_jar(folder: Path, deadline_s: float = RESOLVE_DEADLINE_S) -> Path:
    """Download that jar, and no other, into `folder`. Raises what `Jars.resolve` raises."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY) as temporary:
        work = Path(temporary)
        fresh = resolve_packages((LOCAL_FILE_SYSTEM,), work, work / "resolver.log", Deadline(deadline_s))
        return Path(shutil.copy(spark_classpath(fresh), folder))


def default_cache() -> Path:
    """`$TANDEM_CACHE`, else `~/.cache/tandem`."""
    given = os.environ.get("TANDEM_CACHE")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "tandem"


@contextmanager
def locked(lock_file: Path, deadline: Deadline) -> Iterator[None]:
    """Hold a lock of the cache, which other processes wait for. Raises `JarsError`: it was not to be had in time."""
    with lock_file.open("w") as file:

        def acquired() -> bool:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        if not wait_until(acquired, deadline, interval_s=0.2):
            raise JarsError(f"another process has been downloading for too long (it holds {lock_file}): end it, retry")
        yield  # closing the file releases the lock, as does the end of the process


def _install(cache: Path, folder: Path, deadline: Deadline) -> None:
    """Resolve into a temporary folder beside `folder`, then rename: nobody ever sees half of it. Needs the lock."""
    for left_behind in cache.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=cache, ignore_cleanup_errors=True) as temporary:
        fresh = resolve_packages((KAFKA, LOCAL_FILE_SYSTEM), Path(temporary), cache / "resolver.log", deadline)
        inventory = {jar.name: jar.stat().st_size for jar in sorted(fresh.glob("*.jar"))}
        if not any(name.startswith("org.apache.kafka_kafka_2.13-") for name in inventory):
            raise JarsError(f"the resolver ended well but found no {KAFKA}: check its Ivy settings")
        spark_classpath(fresh)
        (fresh / _INVENTORY).write_text(json.dumps(inventory, indent=1))
        if folder.exists():  # damaged, or it would have been used
            folder.rename(Path(temporary, "damaged"))
        fresh.rename(folder)
