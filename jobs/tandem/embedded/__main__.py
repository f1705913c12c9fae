"""`python -m tandem.embedded` resolves the jars into the cache and prints their folder."""

import sys

from rich.console import Console

from tandem.embedded.errors import EmbeddedError
from tandem.embedded.jars import Jars


def main() -> None:
    """Exit with 1 and the reason if the jars cannot be had."""
    errors = Console(stderr=True)
    try:
        with errors.status("Resolving Kafka's jars (once, about 20 s) …"):
            jars = Jars.resolve()
    except EmbeddedError as error:
        errors.print(str(error), style="red", markup=False, soft_wrap=True)
        sys.exit(1)
    print(jars.folder)


if __name__ == "__main__":
    main()
