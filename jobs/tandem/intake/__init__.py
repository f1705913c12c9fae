"""An epoch's records: fetched from Kafka, merged into one order, and parsed as the job's sources say."""
