"""Prints what the package and its extras need, one requirement a line: `python requirements.py EXTRA…`."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
print(*project["dependencies"], *(requirement for name in sys.argv[1:] for requirement in extras[name]), sep="\n")
