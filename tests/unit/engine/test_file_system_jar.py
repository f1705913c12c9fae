"""The jar that a replica needs is ready in an image, and in the cache elsewhere."""

from pathlib import Path

import pytest

from tandem.engine.jvm.errors import JarsError
from tandem.engine.jvm.jars import file_system_jar

JAR = "com.globalmentor_hadoop-bare-naked-local-fs-0.1.0.jar"


def test_the_folder_that_the_image_names_is_used_without_any_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    (ready / JAR).touch()
    monkeypatch.setenv("TANDEM_SPARK_JARS", str(ready))
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path / "cache"))

    assert file_system_jar() == ready / JAR
    assert not (tmp_path / "cache").exists()


def test_a_folder_without_the_jar_is_refused_with_the_variable_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_SPARK_JARS", str(tmp_path))

    with pytest.raises(JarsError, match=rf"{JAR} is missing.*TANDEM_SPARK_JARS"):
        file_system_jar()


def test_without_the_variable_the_jar_is_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = tmp_path / "jars-kafka-4.3.1"
    cached.mkdir()
    (cached / JAR).touch()
    (cached / "inventory.json").write_text(f'{{"{JAR}": 0}}')
    monkeypatch.delenv("TANDEM_SPARK_JARS", raising=False)
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))

    assert file_system_jar() == cached / JAR
