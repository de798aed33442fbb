"""The contract over MongoDB, without multi-document transactions: a standalone server will do.

A job and its schedules are one document, so one compare-and-set moves all of it. Read `intents` first: it is the
protocol, and says why nothing is lost when a process dies between two writes.
"""
