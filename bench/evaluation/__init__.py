"""The whole evaluation, from scenarios that are data: `python -m bench.evaluation`."""
