"""What the children do: a role is asked for as `module.function`, with the store's address and a node's name."""

from . import (
    crowd,
    dying,
    fleet,
    giving_up,
    holding,
    listening,
    mongo,
    persevering,
    starting,
    stopping,
    users,
    working,
)

__all__ = [
    "crowd",
    "dying",
    "fleet",
    "giving_up",
    "holding",
    "listening",
    "mongo",
    "persevering",
    "starting",
    "stopping",
    "users",
    "working",
]
