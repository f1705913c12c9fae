"""Nexmark: an auction house's persons, auctions and bids, the queries 0-9, 11 and 12 as jobs, and their exact answers.

`events` makes the stream, `encode` its records, `queries` the jobs (a manifest for each beside this file), `reference` the
answers. Source: Tucker, Tufte, Papadimos, Maier: NEXMark, a benchmark for queries over data streams (2002), and the
generator of Apache Beam.
"""
