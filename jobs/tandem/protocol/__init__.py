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
`transaction_time`  how long a transaction may take
`publication`       claim, then publish; or take over: the state machine of one replica; `publication_rules`, `actions`
`succession`        when a generation follows another
`membership`        who computes, who stands by
`switchover`        planned: who leaves, who takes over
`determinants`      answers of the outside world, as proposals
`shipping`          whose turn it is to ship the state's changes
`verification`      when a standby proves its state, and how long
`retention`         whether a topic keeps what a restart reads again
==================  ==========================================================================
"""
