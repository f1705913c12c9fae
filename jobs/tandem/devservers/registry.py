"""A real schema registry as a child process: Apicurio's, by its API that is Confluent's."""

import subprocess
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import Final

from tandem.devservers.server import Server, accepts, free_ports
from tandem.engine.jvm.jars import RESOLVE_DEADLINE_S, default_cache, locked
from tandem.engine.jvm.java import java_executable
from tandem.engine.jvm.pyspark_files import spark_home
from tandem.listening import in_brackets
from tandem.process.child import Command, tail
from tandem.process.errors import EmbeddedError
from tandem.waiting import Deadline

VERSION: Final = "2.6.13.Final"
"""The last one for Java 17."""
_API: Final = "/apis/ccompat/v7"
_HEAP: Final = "-Xmx192m"
# The application is an archive with a classifier, which Spark's resolver cannot name: Ivy, a jar of PySpark, can.
_IVY: Final = f"""
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="tandem" module="registry"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}" conf="default->*" transitive="false">
      <artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


class RegistryServer(Server):
    """A registry whose schemas survive restarts.

    `data_dir` : folder for data and log; made if missing.
    `port` : 0 picks a free one, kept over restarts.
    `host` : address to listen on.

    `start` downloads the registry once into the cache (80 MB), and raises `JarsError` if that fails.
    """

    name = "registry"

    def __init__(self, data_dir: Path, *, port: int = 0, host: str = "127.0.0.1") -> None:
        super().__init__(data_dir, host)
        self.port = port or free_ports(1, host)[0]

    @property
    def url(self) -> str:
        """For clients."""
        return f"http://{in_brackets(self.host)}:{self.port}{_API}"

    def _ports(self) -> tuple[int, ...]:
        return (self.port,)

    def _prepare(self, deadline: Deadline) -> Command:  # noqa: ARG002
        url = f"jdbc:h2:file:{self.data_dir / 'schemas'};WRITE_DELAY=0"
        settings = {
            "quarkus.http.port": self.port,
            "quarkus.http.host": self.host,
            "registry.datasource.url": url,
            "quarkus.datasource.jdbc.url": url,
        }
        given = [f"-D{name}={value}" for name, value in settings.items()]
        java = (str(java_executable()), _HEAP, "-XX:TieredStopAtLevel=1")
        return Command((*java, *given, "-jar", str(registry_jar())), self.log_file)

    def _answers(self) -> bool:
        if not accepts(self.port, self.host):
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=1) as answer:  # noqa: S310
                return int(answer.status) == 200
        except OSError:
            return False


def registry_jar(deadline_s: float = RESOLVE_DEADLINE_S) -> Path:
    """The jar that runs the registry, in the cache; downloaded once, by one process.

    Raises `EmbeddedError`: it cannot be had; `JarsError`, `JavaMissingError`.
    """
    cache, deadline = default_cache().absolute(), Deadline(deadline_s)
    folder = cache / f"registry-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "registry.lock", deadline):
        if not folder.exists():
            _install(folder, deadline)
    found = next(folder.glob("*-runner.jar"), None)
    if found is None:
        raise EmbeddedError(f"{folder} has no *-runner.jar: delete the folder, and start again")
    return found


def _install(folder: Path, deadline: Deadline) -> None:
    with tempfile.TemporaryDirectory(prefix="registry-", dir=folder.parent, ignore_cleanup_errors=True) as temporary:
        work = Path(temporary)
        archive = _download(work, deadline)
        with tarfile.open(archive) as packed:
            packed.extractall(work / "app", filter="data")
        (work / "app").rename(folder)


def _download(work: Path, deadline: Deadline) -> Path:
    (work / "ivy.xml").write_text(_IVY)
    classpath = str(spark_home() / "jars" / "*")
    ivy = (str(java_executable()), "-cp", classpath, "org.apache.ivy.Main", "-ivy", str(work / "ivy.xml"))
    log = work.parent / "registry-download.log"
    with log.open("w") as output:
        try:
            subprocess.run(
                [*ivy, "-cache", str(work / "ivy")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=deadline.remaining_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            output.write("no answer in time\n")
    found = next((work / "ivy").rglob("*.tar.gz"), None)
    if found is None:
        raise EmbeddedError(
            f"Ivy could not fetch io.apicurio:apicurio-registry-app:{VERSION} from Maven Central: check the network; "
            f"JAVA_TOOL_OPTIONS may name a proxy (-Dhttps.proxyHost=…). In detail, {log}:\n{tail(log)}"
        )
    return found
