"""What a server in Java reads is what was meant."""

from __future__ import annotations

from pathlib import Path

from tandem.devservers.properties import properties
from tandem.devservers.zookeeper import ZooKeeperSettings


def test_letters_that_are_not_ascii_are_escaped_and_backslashes_of_paths_too() -> None:
    text = properties({"dir": Path("/x/Ü 😀\\y"), "jaas": 'a="b\\"c";'})

    assert text == 'dir=/x/\\u00dc \\ud83d\\ude00\\\\y\njaas=a="b\\"c";\n'


def test_a_servers_folder_may_have_any_name() -> None:
    assert ZooKeeperSettings(data_dir=Path("/x/Übung"), port=1).properties().isascii()
