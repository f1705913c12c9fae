"""The operator: keeps the pods of every ReplicatedStreamJob as its spec asks, and never takes part in masking a failure.

A pass over one job is observe → plan → act. Observing never acts; planning is pure; acting decides nothing. A pass starts
from whatever is there, so it may run at any time, twice, or after any crash.
"""
