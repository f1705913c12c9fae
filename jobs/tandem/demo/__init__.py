"""`tandem demo`: two replicas over real data, the publishing one is killed, and what a reader saw of it.

===========  ===============================================================================
`settings`   what the user may choose
`latency`    decides: latencies, gaps and quantiles from what was observed
`summary`    decides: the outcome in a line, and whether it is good
`screen`     decides: what is shown while it runs
`stage`      talks: Kafka, ZooKeeper, topics, the manifest
`recorder`   talks: reads both logs as a committed reader, and notes when each epoch arrived
`plot`       talks: the picture
`show`       talks: a live screen, or lines
`play`       wires: the acts in their order
===========  ===============================================================================
"""
