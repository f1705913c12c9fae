"""A workload on a real Kafka, under kills, held against its reference, exactly: `python -m bench.exact WORKLOAD`."""
