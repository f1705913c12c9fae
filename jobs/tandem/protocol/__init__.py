"""The decisions of Tandem: pure functions and values.

Every replica, orderer and standby reads the same records of a job's ordering topic and applies the same rules, so all of
them reach the same decisions; elections and time-outs elsewhere only decide who proposes when. Nothing here does I/O,
reads a clock, starts a thread or knows Spark; `lint-imports` holds it to that.

==================  ==========================================================================
`values`            positions of inputs, proposals (config, cut, claim, progress), epoch markers
`codec`             proposals and markers as bytes of a Kafka record, and back
`decisions`         the fold of the ordering log: which proposal is accepted
`merge`             the order of the rows inside an epoch
`cutting`           where the next epoch ends: a fair share of what is available
`pace`              when the next cut is proposed, and by whom
`silence`           how long is too long: adaptive bounds
`publication`       claim, then publish; or take over: the state machine of one replica
==================  ==========================================================================
"""
