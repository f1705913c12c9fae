"""An archive of classes is never taken for that of another installation."""

from __future__ import annotations

import os
from pathlib import Path

from structlog.testing import capture_logs

from tandem.engine.class_archive import remove_old
from tandem.engine.session import ARCHIVE_PREFIX, archive_of, shared_classes


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


def test_archives_that_were_used_last_stay(tmp_path: Path) -> None:
    mine, *others = (tmp_path / f"{ARCHIVE_PREFIX}{number}.jsa" for number in range(5))
    for age, archive in enumerate((mine, *others)):
        archive.touch()
        os.utime(archive, (1_000_000 - age, 1_000_000 - age))
    oldest = others[-1]
    assert str(oldest) in shared_classes(oldest), "used now"

    remove_old(mine)

    assert sorted(tmp_path.iterdir()) == sorted([mine, others[0], oldest])


def test_a_start_without_an_archive_says_what_would_make_it_faster(tmp_path: Path) -> None:
    with capture_logs() as logs:
        assert shared_classes(tmp_path / "missing.jsa") == ""

    assert [(log["event"], "tandem.engine.class_archive" in log["remedy"]) for log in logs] == [
        ("no_class_archive", True)
    ]
