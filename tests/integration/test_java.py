"""The servers' jars and Java are found, fixed, or said to be missing with what to do about it."""

from pathlib import Path

import pytest

from tandem.engine.jvm.errors import JarsError, JavaMissingError
from tandem.engine.jvm.jars import Jars, spark_classpath
from tandem.engine.jvm.java import java_executable, parse_major_version

pytestmark = pytest.mark.integration


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the only place that Spark's resolver looks in; jars put there are found without any network."""
    folder, conf = tmp_path / "mirror", tmp_path / "conf"
    folder.mkdir()
    conf.mkdir()
    (conf / "ivysettings.xml").write_text(
        '<ivysettings><settings defaultResolver="mirror"/><resolvers><filesystem name="mirror">'
        f'<artifact pattern="{folder}/[organisation]_[module]-[revision].[ext]"/>'
        "</filesystem></resolvers></ivysettings>"
    )
    (conf / "spark-defaults.conf").write_text(f"spark.jars.ivySettings {conf / 'ivysettings.xml'}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    return folder


def test_a_damaged_jar_in_the_cache_is_resolved_anew(mirror: Path, tmp_path: Path) -> None:
    for jar in Jars.resolve().folder.glob("org.apache.kafka_kafka_2.13-*.jar"):
        (mirror / jar.name).symlink_to(jar)
    file_system = Jars.resolve().spark_classpath()
    (mirror / file_system.name).symlink_to(file_system)
    damaged = tmp_path / "cache" / Jars.resolve().folder.name
    damaged.mkdir(parents=True)
    (damaged / "inventory.json").write_text(f'{{"{file_system.name}": {file_system.stat().st_size}}}')
    (damaged / file_system.name).write_bytes(b"half a jar")
    assert not Jars(damaged).complete

    fixed = Jars.resolve(tmp_path / "cache")

    assert fixed.complete
    assert spark_classpath(fixed.folder).read_bytes() == file_system.read_bytes()
    assert sorted(path.suffix for path in (tmp_path / "cache").iterdir()) == [".1", ".lock", ".log"], "left-overs"


def test_a_resolver_that_fails_is_told_with_its_output_and_leaves_nothing(mirror: Path, tmp_path: Path) -> None:
    assert list(mirror.iterdir()) == []
    with pytest.raises(JarsError, match=r"(?s)check the network.*UNRESOLVED DEPENDENCIES"):
        Jars.resolve(tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("script", "complaint"),
    [("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "is Java 11"), ("exit 1", "does not tell its version")],
)
def test_a_java_of_no_use_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, complaint: str) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissingError, match=rf"JAVA_HOME\) {complaint}: install Java 17 or newer"):
        java_executable()


def test_a_missing_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissingError, match="no java on PATH"):
        java_executable()


@pytest.mark.parametrize(("output", "major"), [('version "1.8.0_392"', 8), ('version "22-ea"', 22), ("what?", None)])
def test_the_major_version_of_java_is_read(output: str, major: int | None) -> None:
    assert parse_major_version(output) == major
