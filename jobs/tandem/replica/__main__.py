"""`python -m tandem.replica`."""

import os
import sys

HASH_SEED = "0"
"""Of Python's hashes, and so of the order of sets, in every process that runs the job's code: Spark's workers inherit it."""

if __name__ == "__main__" and os.environ.get("PYTHONHASHSEED") != HASH_SEED:
    os.environ["PYTHONHASHSEED"] = HASH_SEED  # Python reads it when it starts
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606

import typer  # noqa: E402 - not before the seed is known

from tandem.replica.main import main  # noqa: E402

typer.run(main)
