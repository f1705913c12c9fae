"""`python -m tandem.orderer`."""

import typer

from tandem.orderer.main import main

typer.run(main)
