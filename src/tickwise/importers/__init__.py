"""Definitions of other schedulers → job files, with a note for everything that could not be carried over.

Each kind has one module with a `read`: parsed or raw text in, an `Imported` out, and nothing is executed. `proof`
then compares the times of a job file with those that the old scheduler's own rules give. The rules are written a
second time here (`wall_clock`), or asked of the old scheduler itself: a proof by our own cron engine would prove
nothing.
"""
