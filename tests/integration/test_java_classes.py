"""Tandem's Java is compiled by whichever compiler a machine has, and a replica that starts finds it compiled."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tandem.engine.jvm import classes
from tandem.engine.jvm.classes import classes_jar, make_jar, sources
from tandem.engine.jvm.errors import JarsError
from tandem.engine.jvm.jars import READY

pytestmark = pytest.mark.integration


@pytest.mark.thorough
def test_where_there_is_no_jdk_eclipses_compiler_takes_every_source_without_a_warning(tmp_path: Path) -> None:
    jar = make_jar(tmp_path, eclipse=True)

    classes = {Path(name).name for name in zipfile.ZipFile(jar).namelist()}
    assert {f"{source.stem}.class" for source in sources()} <= classes
    assert [path.name for path in tmp_path.iterdir()] == [jar.name], "nothing else is left behind"


def test_a_source_that_any_compiler_warns_of_makes_no_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    careless = tmp_path / "Careless.java"
    careless.write_text("package tandem;\nfinal class Careless { java.util.List raw = new java.util.ArrayList(); }\n")
    monkeypatch.setattr(classes, "sources", lambda: [careless])

    with pytest.raises(JarsError, match=r"(?s)does not compile Tandem's Java classes:.*Careless\.java"):
        make_jar(tmp_path / "jars")
    assert not list((tmp_path / "jars").iterdir())


def test_an_image_without_the_jar_is_refused_with_what_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(READY, str(tmp_path))
    with pytest.raises(JarsError, match=r"tandem-classes-\w+\.jar is missing: `python -m tandem\.engine\.jvm\.classes"):
        classes_jar()
