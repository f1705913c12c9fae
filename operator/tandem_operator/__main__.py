"""`python -m tandem_operator run`."""

from tandem_operator.cli import app

app()
