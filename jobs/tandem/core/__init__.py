"""The cores: all that a replica and an orderer decide, as `step(event, now_ms) → effects`. No I/O, no threads, no clocks.

The runtime feeds a core one event after the other and carries out its effects; the simulation does so with simulated ports.
"""
