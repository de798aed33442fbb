"""Peers that cannot be installed beside Tickwise: each is a process in an environment of their own."""
