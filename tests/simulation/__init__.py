"""A deterministic simulator of Kafka, ZooKeeper, processes and their failures, driving the real `tandem.core`.

One seed is one schedule is one story: `TANDEM_SEED=7 pytest tests/simulation -k replay -s` tells it. One of five
schedules has standbys, snapshots, or both, one of ten has lanes. `make simulate N=100000 FIRST=300000` runs the seeds from
300,000 on: what runs of several days find adds up.

===================  ==================================================================================
`schedule`           what a seed stands for: sizes, delays, failures
`redundancy`         what it stands for besides: standbys, slots, a snapshot store, and their failures
`clock`              simulated time, and processes that pause, die and come back
`kafka`              the ordering log, transactional partitions, the coordinator that fences
`zookeeper`          sessions, the election, ephemeral nodes
`store`              the snapshot store: torn uploads, damage, times when it is away
`tasks`              blocking code of the product, run step by step in simulated time
`replica`            runs the real `ReplicaCore`: the logs that it reads, the engine that computes its epochs
`steps`              what the core asks for that waits for Kafka: fencing, reading to the ends, renewing, publishing
`producer`           the transactional producer of a replica
`standby`            a replica that stands by first: the real `StandbyCore` and `Slots`
`slots`              the session through which `Slots` sees ZooKeeper; an operator who asks for switchovers
`peers`              connections to the other replicas, closed when one ends
`states`             checkpoints, restoring them, the real `SnapshotStore` and `Snapshotter`
`scale`              the product's long times, scaled down
`differences`        replicas that do not compute the same
`generations`        a new generation, which follows from a savepoint
`lanes`              what it stands for besides: lanes, and failures that hit several of them
`site`               what lanes share: time, brokers, ZooKeeper; what has the same name is the same thing
`lane_change`        what a schedule adds whose number of lanes changes
`keyed`              state that can be divided by key, and what each key must show
`changer`            who carries out such a change, step by step, with the decisions of `tandem.protocol.lanes`
`lane_worlds`        the lanes before it, and after it
`changing`           the operator who stops the ones and begins the others
`sink`               the topic that lanes write together, and what its readers see
`hosts`              where processes of several lanes are, and die or pause at once
`orderer`            runs the real `OrdererCore`
`failures`           injects what the schedule says
`outputs`            the failure-free output, and how epochs are computed
`invariants`         what must hold after every step
`world`              puts one schedule's parts together, or those of one lane
`worlds`             the lanes of one schedule
`running`            runs them to the end
`campaign`           many schedules over several processes
`deviation`          how a run deviates from the protocol, if a test wants it to
`weakened`           rules of publication with one taken away
`guards`             the protocol with one of its guards removed
`guards_of_pace`     without one of the rules that make the output come
`guards_of_state`    standbys, slots and snapshots with one of theirs removed
`guards_of_lanes`    lanes with something in common that each must have for itself
`guards_of_lane_change`  a change of their number without one of its guards
`store_races`        the snapshot store alone, under many savers, readers and collectors that pause
`guards_of_store`    the store with one of its guards against races removed
===================  ==================================================================================
"""
