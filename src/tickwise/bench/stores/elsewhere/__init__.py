"""Peers that cannot be imported beside ours, each in a process of an environment that holds nothing of ours."""
