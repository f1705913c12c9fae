"""Flink's jars, put together from packages into a folder of the cache: nothing is used whose digest is not the known one.

Flink itself is a wheel (`apache-flink-libraries`, 329 MB, fetched once); its Kafka connector and the gateway, which runs
SQL scripts, are artifacts of Maven.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.connector import fetch_artifact
from tandem.engine.jvm.errors import JarsError
from tandem.engine.jvm.jars import default_cache, locked
from tandem.process.child import ChildProcess, Command
from tandem.waiting import Deadline

VERSION = "2.3.0"
WHEEL = f"apache-flink-libraries=={VERSION}"
WHEEL_SHA256 = "38ece876553286b3a285cf344c2d2038f8a7ca10da5df54d5107250386d64151"
ARTIFACTS = {
    "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2": (
        "5605c691d11a501382c383fecba37a7a552467da5ab7ba904ef5d6f3d62c5616"
    ),
    f"org.apache.flink:flink-sql-gateway:{VERSION}": "aad296a152dc367ddd70727f5a57dd61958cff3d8dceb1f947bf8d9705c8d724",
}
"""Each with its SHA-256."""
_IN_WHEEL = "pyflink/lib/"
_NOT_ALONG = ",".join(
    f"org.apache.flink:flink-{begin}*" for begin in ("a", "c", "d", "f", "m", "q", "r", "t", "st", "sh")
)
"""What the two artifacts need is in Flink's own jars."""


def flink_jars(cache: Path | None = None, deadline_s: float = 600.0) -> Path:
    """The folder with all jars of Flink's class path, made if the cache (by default Tandem's) lacks it: a minute or two.

    Raises `JarsError` if a package cannot be had, or is not the known one.
    """
    cache = (default_cache() if cache is None else cache).absolute()
    folder = cache / f"flink-{VERSION}"
    if folder.is_dir():
        return folder
    deadline = Deadline(deadline_s)
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / f"{folder.name}.lock", deadline):
        if not folder.is_dir():
            _install(folder, deadline)
    return folder


def check_digest(file: Path, sha256: str) -> Path:
    """`file`, if it has this digest. Raises `JarsError` if not."""
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != sha256:
        raise JarsError(f"{file.name} has the SHA-256 {found}, not {sha256}: it is not the package that was checked")
    return file


def unpack_jars(wheel: Path, folder: Path) -> list[str]:
    """Copy the jars of the wheel's class path into `folder`; return their names. Raises `JarsError` if there is none."""
    names = []
    with zipfile.ZipFile(wheel) as opened:
        for name in opened.namelist():
            if name.startswith(_IN_WHEEL) and name.endswith(".jar"):
                with opened.open(name) as source, (folder / Path(name).name).open("wb") as target:
                    shutil.copyfileobj(source, target)
                names.append(Path(name).name)
    if not names:
        raise JarsError(f"{wheel.name} has no jars in {_IN_WHEEL}")
    return names


def _install(folder: Path, deadline: Deadline) -> None:
    """Into a temporary folder beside `folder`, then rename: nobody ever sees half of it. Needs the lock."""
    with _work_beside(folder) as work:
        fresh = work / "jars"
        fresh.mkdir()
        for artifact, sha256 in ARTIFACTS.items():
            check_digest(fetch_artifact(artifact, fresh, deadline, not_along=_NOT_ALONG), sha256)
        unpack_jars(_wheel(work, deadline), fresh)
        fresh.rename(folder)


def _wheel(work: Path, deadline: Deadline) -> Path:
    """pip knows mirrors and proxies, and checks the digest."""
    wanted = work / "wanted.txt"
    wanted.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n")
    words = ("--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", str(work), "--requirement", str(wanted))
    pip = (sys.executable, "-m", "pip", "download", "--no-cache-dir", "--disable-pip-version-check", *words)
    process = ChildProcess("pip", Command(pip, work / "pip.log"))
    try:
        process.wait(deadline.remaining_s)
        if process.exit_code != 0:
            raise JarsError(f"pip could not fetch {WHEEL}: {process.story()}")
    finally:
        process.kill()
    return check_digest(next(work.glob("*.whl")), WHEEL_SHA256)


@contextmanager
def _work_beside(folder: Path) -> Iterator[Path]:
    prefix = f"fetching-{folder.name}-"
    for left_behind in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent, ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)
