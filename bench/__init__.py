"""Measuring Tandem beside plain Spark: `python -m bench`."""
