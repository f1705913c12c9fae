"""`python -m tandem` is the command `tandem`."""

from tandem.cli.main import app

if __name__ == "__main__":
    app()
