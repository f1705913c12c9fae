"""A process that handles records looks for reference cycles rarely, and still finds them."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: what lives now is never looked at again.
LOOK = """
import gc
from tandem.process.garbage import NEW_OBJECTS, collect_rarely

collect_rarely()
looks = []
gc.callbacks.append(lambda phase, info: looks.append(info["collected"]) if phase == "stop" else None)
records = [["key", ("header", index)] for index in range(NEW_OBJECTS // 3)]
print(len(looks))
del records


class Circle:
    def __init__(self):
        self.itself = self


for _ in range(NEW_OBJECTS):
    Circle()
print(len(looks) > 0 and sum(looks) > NEW_OBJECTS // 4)
"""


def test_records_of_an_epoch_cause_no_look_and_cycles_are_found() -> None:
    found = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True, timeout=60)

    assert found.stdout.split() == ["0", "True"]
