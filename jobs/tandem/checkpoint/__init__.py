"""Checkpoints of the query as folders: what snapshots, shipping and the engine have in common."""
