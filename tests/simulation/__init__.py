"""A deterministic simulator of Kafka, ZooKeeper, processes and their failures, driving the real `tandem.protocol`.

One seed is one schedule is one story: `TANDEM_SEED=7 pytest tests/simulation -k replay -s` tells it.

==============  =====================================================================================
`schedule`      what a seed stands for: sizes, delays, failures
`clock`         simulated time, and processes that pause, die and come back
`kafka`         the ordering log, transactional partitions, the coordinator that fences
`zookeeper`     sessions and the election
`replica`       runs the real `Publication`: computes epochs, carries out its actions step by step
`producer`      the transactional producer of a replica
`orderer`       runs the real `Pace` and `next_ends`
`failures`      injects what the schedule says
`invariants`    what must hold after every step, and the failure-free output
`world`         puts one schedule's parts together and runs them
`campaign`      many schedules over several processes
`guards`        the protocol with one of its guards removed
==============  =====================================================================================
"""
