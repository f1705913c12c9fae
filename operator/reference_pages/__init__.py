"""Pages of docs/reference that are made from the code: the commands and the metrics."""
