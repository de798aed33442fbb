"""The params that a run of a job may be given: those of its function, or those that its definition declares.

They are stored with the definition, so that every process refuses a wrong name when a run is asked for, without
importing the code of the job (S30).
"""

from collections.abc import Collection
from dataclasses import dataclass

from .errors import InputError, did_you_mean, nearest_word

RUN = "run"  # a parameter of this name gets the run
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a function that can be given by name, without `run`."""

    names: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    takes_any: bool = False  # it has **kwargs

    def check(self, what: str, given: Collection[str]) -> None:
        """Refuse names that are not taken, and a call without one that is needed. `what` begins the message."""
        self.check_names(what, given)
        if missing := [name for name in self.required if name not in given]:
            problem = f"{what} needs a value for {', '.join(missing)}: give it in params"
            raise InputError(problem, field=f"params.{missing[0]}")

    def check_names(self, what: str, given: Collection[str]) -> None:
        """Refuse names that are not taken, with the nearest that is."""
        for name in given:
            if name in self.names:
                continue
            shown = name[:_LONGEST_NAME]
            if name == RUN:
                problem = f"{what} gets `run` from Tickwise: a param cannot have that name"
                raise InputError(problem, field=f"params.{RUN}")
            if not self.takes_any:
                near = nearest_word(name, self.names)
                takes = f"it takes {', '.join(self.names)}" if self.names else "it takes none"
                problem = f"{what} has no parameter {shown}{did_you_mean(near)}: {takes}"
                raise InputError(problem, field=f"params.{shown}", nearest=near)
