"""A real PostgreSQL as a child process: binaries from Maven Central, never run as root."""

from __future__ import annotations

import importlib.util
import os
import platform
import pwd
import secrets
import shutil
import signal
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tandem.devservers.server import Server, accepts, free_ports
from tandem.engine.jvm.jars import RESOLVE_DEADLINE_S, default_cache, locked
from tandem.engine.jvm.resolver import resolve_packages
from tandem.process.child import ChildProcess, Command
from tandem.process.errors import EmbeddedError, ServerError
from tandem.waiting import Deadline

if TYPE_CHECKING:
    from psycopg import Connection

VERSION: Final = "18.1.0"
POSTGRES_USER: Final = "tandem"
_MACHINES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8"}
_UNPRIVILEGED: Final = "nobody"
_PASSWORD_BYTES: Final = 18
_CONNECT_TIMEOUT_S: Final = 2  # the least that libpq takes


class PostgresServer(Server):
    """A PostgreSQL whose databases survive restarts, with a superuser `tandem` and a password by chance.

    `data_dir` : folder for data, log and password; made if missing.
    `port` : 0 picks a free one, kept over restarts.
    `host` : address to listen on.
    `extra` : settings of the server, as in postgresql.conf.

    If root starts it, it runs as `nobody`. `start` downloads the binaries once into the cache (15 MB). It raises
    `EmbeddedError` if they cannot be had here, or the package psycopg is missing.
    """

    name = "postgres"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT  # SIGTERM would wait until the last client is gone

    def __init__(
        self, data_dir: Path, *, port: int = 0, host: str = "127.0.0.1", extra: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(data_dir, host)
        self.port = port or free_ports(1, host)[0]
        self._extra = dict(extra or {})

    @property
    def address(self) -> str:
        """`host:port` for clients."""
        return f"{self.host}:{self.port}"

    @property
    def password_file(self) -> Path:
        """Holds the password, for its owner only; there once it has started."""
        return self.data_dir / "password"

    @property
    def password(self) -> str:
        """Of the user `tandem`, once it has started."""
        return self.password_file.read_text().strip()

    def connect(self, database: str = "postgres") -> Connection[Any]:
        """A connection that commits each statement. Raises `psycopg.Error`."""
        import psycopg

        return psycopg.connect(
            host=self.host,
            port=self.port,
            user=POSTGRES_USER,
            password=self.password,
            dbname=database,
            connect_timeout=_CONNECT_TIMEOUT_S,
            autocommit=True,
        )

    def make_database(self, name: str) -> bool:
        """Make a database if it is not there; whether it was made. Raises `ServerError`."""
        import psycopg
        from psycopg import sql

        try:
            with self.connect() as connection:
                if connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone() is not None:
                    return False
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
                return True
        except psycopg.Error as error:
            raise ServerError(f"cannot make the database {name} in {self.address}: {error}") from error

    def _ports(self) -> tuple[int, ...]:
        return (self.port,)

    def _prepare(self, deadline: Deadline) -> Command:
        if importlib.util.find_spec("psycopg") is None:
            raise EmbeddedError("PostgreSQL needs the package psycopg: pip install 'tandem-stream[postgres]'")
        binaries = postgres_binaries()
        if not (self.data_dir / "data").exists():
            self._init(binaries, deadline)
        settings = {"listen_addresses": self.host, "port": self.port, "unix_socket_directories": "", **self._extra}
        given = (word for key, value in settings.items() for word in ("-c", f"{key}={value}"))
        return self._command(binaries, "postgres", "-D", str(self.data_dir / "data"), *given)

    def _init(self, binaries: Path, deadline: Deadline) -> None:
        fresh = self.data_dir / "data.new"  # renamed when it is whole
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        self.password_file.unlink(missing_ok=True)
        self.password_file.touch(mode=0o600)
        self.password_file.write_text(secrets.token_urlsafe(_PASSWORD_BYTES) + "\n")
        if os.getuid() == 0:
            owner = pwd.getpwnam(_UNPRIVILEGED)
            os.chown(fresh, owner.pw_uid, owner.pw_gid)
        login = ("-U", POSTGRES_USER, "--pwfile", str(self.password_file), "-A", "scram-sha-256")
        command = self._command(
            binaries, "initdb", "-D", str(fresh), *login, "--locale=C", "-E", "UTF8", "--no-instructions"
        )
        made = ChildProcess("initdb", command)
        try:
            if not made.wait(deadline.remaining_s) or made.exit_code != 0:
                raise ServerError(f"cannot make {self.data_dir / 'data'} for PostgreSQL: {made.story()}")
        finally:
            made.kill()
        fresh.rename(self.data_dir / "data")

    def _command(self, binaries: Path, program: str, *words: str) -> Command:
        lowered = _as_nobody() if os.getuid() == 0 else ()
        return Command((*lowered, str(binaries / "bin" / program), *words), self.log_file, {"LC_ALL": "C"})

    def _answers(self) -> bool:
        import psycopg

        if not accepts(self.port, self.host):
            return False
        try:
            with self.connect() as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.OperationalError:
            return False


def _as_nobody() -> tuple[str, ...]:
    """PostgreSQL refuses to run as root. The folders it needs may be closed to others: it keeps that one right of root's."""
    found = shutil.which("setpriv")
    if found is None:
        raise EmbeddedError(
            "PostgreSQL does not run as root, and there is no setpriv to run it as nobody: install util-linux, or start "
            "this as another user"
        )
    user = pwd.getpwnam(_UNPRIVILEGED)
    rights = [f"--{name}=-all,+dac_override" for name in ("inh-caps", "ambient-caps", "bounding-set")]
    rights.append(
        "--securebits=+no_setuid_fixup"
    )  # or access(2), by which initdb looks for its programs, has not got it
    return (found, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *rights, "--pdeathsig=KILL")


def postgres_binaries(deadline_s: float = RESOLVE_DEADLINE_S) -> Path:
    """The folder with `bin/postgres`, in the cache; downloaded once, by one process.

    Raises `EmbeddedError`: there are none for this machine; `JarsError`: they cannot be fetched.
    """
    system, machine = platform.system().lower(), _MACHINES.get(platform.machine().lower())
    if system not in ("linux", "darwin") or machine is None:
        raise EmbeddedError(
            f"there is no PostgreSQL to download for {sys.platform} on {platform.machine()}: run your own"
        )
    cache, deadline = default_cache().absolute(), Deadline(deadline_s)
    name = f"postgres-{VERSION}-{system}-{machine}"
    folder = cache / name
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "postgres.lock", deadline):
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix="postgres-", dir=cache, ignore_cleanup_errors=True) as temporary:
                _install(Path(temporary), f"{system}-{machine}", deadline).rename(folder)
    return folder


def _install(work: Path, platform_name: str, deadline: Deadline) -> Path:
    coordinates = f"io.zonky.test.postgres:embedded-postgres-binaries-{platform_name}:{VERSION}"
    found = resolve_packages((coordinates,), work, work.parent / "postgres-download.log", deadline)
    jar = next(found.glob("*embedded-postgres*.jar"), None)
    if jar is None:
        raise EmbeddedError(f"the resolver ended well but found no {coordinates}: check its Ivy settings")
    with zipfile.ZipFile(jar) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".txz"))
        archive.extract(name, work)
    with tarfile.open(work / name) as files:
        files.extractall(work / "unpacked", filter="tar")
    return work / "unpacked"
