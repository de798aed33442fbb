"""Tickwise: a scheduler for Python people that decides every slot exactly once and can say why."""
