"""The seed of Python's hashes, and so the order of sets, in every process that runs the job's code."""

import os
import sys

HASH_SEED = "0"


def begin_with_hash_seed() -> None:
    """Start this process again unless it has the seed, which Python reads when it starts. Spark's workers inherit it."""
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        os.environ["PYTHONHASHSEED"] = HASH_SEED
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
