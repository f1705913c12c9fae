"""Tandem: PySpark streaming jobs in active replicas."""
