"""The orderer: a process of its own that proposes where epochs end. Modes `leader` and `heartbeat`."""
