"""`tandem demo`: two replicas, the publishing one is killed, and what a reader saw of it; once for each engine.

===========  ===============================================================================
`settings`   what the user may choose
`acts`       what is played: a job for each engine
`latency`    decides: latencies, gaps and quantiles from what was observed
`summary`    decides: the outcome in a line, and whether it is good
`stage`      talks: Kafka, ZooKeeper, topics, the manifests
`recorder`   talks: reads both logs as a committed reader, and notes when each epoch arrived
`plot`       talks: the picture
`show`       talks: a live screen, or lines
`play`       wires: the acts in their order, and the scenes of each
===========  ===============================================================================
"""
