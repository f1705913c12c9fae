"""Tables that a job reads from topics: in each epoch the latest row of every key, as the epoch's cut has it.

`content` folds records into rows, `parsing` makes rows of records, `versions` and `kept` keep them in the checkpoint,
`query` puts them before the plan of an epoch, or of a batch of the real-time engine.
"""
