"""The ways to execute one action: in this process, in a process of its own, as a command, over HTTP."""
