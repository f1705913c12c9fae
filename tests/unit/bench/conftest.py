"""`bench` is a package of the repository, not of the distribution: its parent goes onto the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
