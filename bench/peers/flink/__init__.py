"""Flink, as a peer: put together from packages, run as processes of this machine."""
