"""The pure heart: time, planning and verdicts, without I/O, clock or chance."""
