"""A real schema registry for tests: Apicurio's, by its API that is Confluent's; it can be paused, killed and started again.

It is one archive of Maven Central, which Ivy, a jar of PySpark, fetches once into the cache of jars.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import tarfile
import urllib.request
from pathlib import Path
from typing import Any, Final

from tandem.devservers.server import Server, accepts, free_ports
from tandem.engine.jvm.jars import default_cache
from tandem.engine.jvm.java import java_executable
from tandem.engine.jvm.pyspark_files import spark_home
from tandem.process.child import Command
from tandem.waiting import Deadline

VERSION: Final = "2.6.13.Final"
"""The last one for Java 17."""
_API: Final = "/apis/ccompat/v7"
_HEAP: Final = "-Xmx192m"
_IVY: Final = f"""
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="tandem" module="tests"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}" conf="default->*" transitive="false">
      <artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


class RegistryServer(Server):
    """A registry whose schemas survive restarts."""

    name = "registry"

    def __init__(self, data_dir: Path, host: str = "127.0.0.1") -> None:
        super().__init__(data_dir, host)
        self._port = free_ports(1, host)[0]

    @property
    def url(self) -> str:
        """For clients."""
        return f"http://{self.host}:{self._port}{_API}"

    def register(self, subject: str, schema: object, kind: str = "AVRO") -> int:
        """Register a schema: a text, or a tree of Avro; its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return int(self.ask(f"/subjects/{subject}/versions", {"schema": text, "schemaType": kind})["id"])

    def ask(self, path: str, body: object = None) -> Any:
        """GET, or POST of `body`."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)

    def _ports(self) -> tuple[int, ...]:
        return (self._port,)

    def _prepare(self, deadline: Deadline) -> Command:
        url = f"jdbc:h2:file:{self.data_dir / 'schemas'};WRITE_DELAY=0"
        settings = {
            "quarkus.http.port": self._port,
            "quarkus.http.host": self.host,
            "registry.datasource.url": url,
            "quarkus.datasource.jdbc.url": url,
        }
        given = [f"-D{name}={value}" for name, value in settings.items()]
        (jar,) = installed(deadline).glob("*-runner.jar")
        java = (str(java_executable()), _HEAP, "-XX:TieredStopAtLevel=1")
        return Command((*java, *given, "-jar", str(jar)), self.log_file)

    def _answers(self) -> bool:
        if not accepts(self._port, self.host):
            return False
        try:
            self.ask("/subjects")
        except OSError:
            return False
        return True


def installed(deadline: Deadline) -> Path:
    """The registry's folder in the cache; another process may be fetching it."""
    cache = default_cache()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"registry-{VERSION}"
    with (cache / "registry.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _install(folder, deadline)
    return folder


def _install(folder: Path, deadline: Deadline) -> None:
    work = folder.with_suffix(".new")
    work.mkdir(exist_ok=True)
    (work / "ivy.xml").write_text(_IVY)
    jars = str(spark_home() / "jars" / "*")
    ivy = (str(java_executable()), "-cp", jars, "org.apache.ivy.Main", "-ivy", str(work / "ivy.xml"))
    done = subprocess.run(
        [*ivy, "-cache", str(work / "ivy")], timeout=deadline.remaining_s, capture_output=True, text=True, check=False
    )
    found = list((work / "ivy").rglob("*.tar.gz"))
    assert found, f"Ivy has not fetched the registry: {done.stdout[-2000:]}"
    with tarfile.open(found[0]) as archive:
        archive.extractall(work / "app", filter="data")
    (work / "app").rename(folder)
    shutil.rmtree(work)
