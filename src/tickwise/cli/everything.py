"""`tickwise pause` and `tickwise resume`: everything at once."""

from .acting import Reason
from .asking import Told, asks
from .client import Api
from .output import print_line


@asks
async def pause(api: Api, reason: Reason = "") -> Told:
    """Pause everything: no slot of any schedule is decided until `tickwise resume`."""
    answer = await api.put("/pause", reason=reason)
    return Told(answer, lambda: print_line("Everything is paused: tickwise resume"))


@asks
async def resume(api: Api) -> Told:
    """Go on after a pause of everything."""
    answer = await api.delete("/pause")
    return Told(answer, lambda: print_line("Nothing holds everything back any longer."))
