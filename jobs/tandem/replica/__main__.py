"""`python -m tandem.replica`."""

import typer

from tandem.replica.main import main

typer.run(main)
