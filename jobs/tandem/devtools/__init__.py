"""Trying a job on this machine: a new job's files, servers to run it against, records in, and rows out."""
