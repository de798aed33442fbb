"""A Dask cluster in a process of its own: prints its address, and ends when its input does."""

import logging
import sys

from distributed import LocalCluster

if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with LocalCluster(
        n_workers=2,
        threads_per_worker=8,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
