"""A heartbeat as a Python function. Run it in this folder with `tickwise serve app:tw` or `python app.py`."""

import os
from typing import Any

from tickwise import Tickwise

tw = Tickwise()  # uses .tickwise/tickwise.db unless TICKWISE_STORE or --store names another store


@tw.job({"every": "5s"}, catchup="skip", overlap="skip", expires="5s", keep={"runs": 1000})
def heartbeat(run: Any, warn_above: float = 8.0) -> dict[str, float]:
    """The return value and the log are stored with the run."""
    load, *_ = os.getloadavg()
    if load > warn_above:
        run.log(f"the load is {load:.1f}")
    return {"load": load}


if __name__ == "__main__":
    tw.run()
