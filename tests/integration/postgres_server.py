"""A real PostgreSQL on this machine: binaries from Maven Central, run by a user that is not root."""

from __future__ import annotations

import os
import platform
import pwd
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any

import psycopg

from tandem.devservers.server import Server, accepts, free_ports
from tandem.engine.jvm.jars import default_cache
from tandem.engine.jvm.resolver import resolve_packages
from tandem.process.child import ChildProcess, Command
from tandem.waiting import Deadline

VERSION = "18.1.0"
USER = "tandem"
PASSWORD = "secret"  # noqa: S105
_PLATFORM = f"{sys.platform}-{ {'x86_64': 'amd64', 'aarch64': 'arm64v8', 'arm64': 'arm64v8'}[platform.machine()] }"


def binaries(deadline_s: float = 300.0) -> Path:
    """The folder with `bin/postgres`, downloaded once into Tandem's cache; any user may read it."""
    folder = Path(tempfile.gettempdir()) / f"tandem-postgres-{VERSION}-{os.getuid()}"
    if (folder / "bin" / "postgres").exists():
        return folder
    jar = _jar(Deadline(deadline_s))
    fresh = Path(tempfile.mkdtemp(prefix="tandem-postgres-"))
    with zipfile.ZipFile(jar) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".txz"))
        archive.extract(name, fresh)
    with tarfile.open(fresh / name) as files:
        files.extractall(fresh / "made", filter="tar")
    fresh.chmod(0o755)
    try:
        (fresh / "made").rename(folder)
    except OSError:  # another test has just done so
        assert (folder / "bin" / "postgres").exists()
    shutil.rmtree(fresh)
    return folder


def _jar(deadline: Deadline) -> Path:
    kept = default_cache() / f"postgres-{VERSION}-{_PLATFORM}.jar"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="postgres-", dir=kept.parent) as work:
            coordinates = f"io.zonky.test.postgres:embedded-postgres-binaries-{_PLATFORM}:{VERSION}"
            found = resolve_packages((coordinates,), Path(work), Path(work) / "resolver.log", deadline)
            next(found.glob("*embedded-postgres*.jar")).rename(kept)
    return kept


class PostgresServer(Server):
    """One server with the database `postgres`, reached by TCP with USER and PASSWORD."""

    name = "postgres"

    def __init__(self, data_dir: Path, host: str = "127.0.0.1") -> None:
        # The user that runs it must reach the folder, which pytest's is closed to.
        self.home = Path(tempfile.mkdtemp(prefix="tandem-pg-"))
        super().__init__(data_dir, host)
        (self.port,) = free_ports(1, host)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        shutil.rmtree(self.home, ignore_errors=True)

    def _ports(self) -> tuple[int, ...]:
        return (self.port,)

    def _prepare(self, deadline: Deadline) -> Command:
        data = self.home / "data"
        self.home.chmod(0o755)
        if not data.exists():
            data.mkdir(mode=0o700)
            password = self.home / "password"
            password.write_text(PASSWORD)
            if os.getuid() == 0:
                nobody = pwd.getpwnam("nobody")
                for path in (data, password):
                    os.chown(path, nobody.pw_uid, nobody.pw_gid)
            options = ("-U", USER, "--pwfile", str(password), "-A", "scram-sha-256", "--no-sync", "-E", "UTF8")
            made = ChildProcess("initdb", self._command("initdb", "-D", str(data), "--locale=C", *options))
            assert made.wait(deadline.remaining_s), made.story()
            assert made.exit_code == 0, made.story()
        settings = {"listen_addresses": self.host, "port": self.port, "unix_socket_directories": "", "fsync": "off"}
        given = (word for key, value in settings.items() for word in ("-c", f"{key}={value}"))
        return self._command("postgres", "-D", str(data), *given)

    def _command(self, program: str, *words: str) -> Command:
        as_nobody = ("/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--pdeathsig=QUIT") * (
            os.getuid() == 0
        )
        return Command((*as_nobody, str(binaries() / "bin" / program), *words), self.log_file, {"LC_ALL": "C"})

    def _answers(self) -> bool:
        if not accepts(self.port, self.host):
            return False
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def connect(self) -> psycopg.Connection[Any]:
        """A connection that commits each statement."""
        return psycopg.connect(
            host=self.host, port=self.port, user=USER, password=PASSWORD, dbname="postgres", autocommit=True
        )

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement; its rows, if it has any."""
        with self.connect() as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def sink(self, table: str, **more: object) -> dict[str, object]:
        """A sink's `postgres` in a manifest; PG_PASSWORD is in the environment."""
        own = {
            "host": self.host,
            "port": self.port,
            "database": "postgres",
            "user": USER,
            "password": {"env": "PG_PASSWORD"},
        }
        return {**own, "table": table, **more}
