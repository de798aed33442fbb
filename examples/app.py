"""A heartbeat as a Python function. In this folder: `tickwise serve app:tw`, or `python app.py`."""

import os
from typing import Any

from tickwise import Tickwise

tw = Tickwise()  # in .tickwise/tickwise.db, unless TICKWISE_STORE or --store names another place


@tw.job({"every": "5s"}, catchup="skip", overlap="skip", expires="5s", keep={"runs": 1000})
def heartbeat(run: Any, warn_above: float = 8.0) -> dict[str, float]:
    """What it returns and what it logs is kept with its run."""
    load, *_ = os.getloadavg()
    if load > warn_above:
        run.log(f"the load is {load:.1f}")
    return {"load": load}


if __name__ == "__main__":
    tw.run()
