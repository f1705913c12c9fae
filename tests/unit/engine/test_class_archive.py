"""An archive of classes is never taken for that of another installation."""

from __future__ import annotations

import os
from pathlib import Path

from tandem.engine.session import archive_of


def test_an_archive_lies_beside_the_jar_and_belongs_to_that_very_file(tmp_path: Path) -> None:
    jar = tmp_path / "file-system.jar"
    jar.write_bytes(b"")
    os.utime(jar, (1_000, 1_000))
    classes = tmp_path / "classes.jar"
    before = archive_of(jar, classes)
    again = archive_of(jar, classes)
    os.utime(jar, (2_000, 2_000))

    assert before == again
    assert before.parent == tmp_path
    assert archive_of(jar, classes) != before
    other = archive_of(jar, classes)
    classes.write_bytes(b"")
    assert archive_of(jar, classes) != other
