"""`python -m tandem.replica`."""

from tandem.process.info import begin_with_hash_seed

if __name__ == "__main__":
    begin_with_hash_seed()

import typer

from tandem.replica.main import main

typer.run(main)
