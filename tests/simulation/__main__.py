"""Histories by their seeds: one is replayed and told, or the first so many are lived through in two processes.

python -m tests.simulation 77
python -m tests.simulation --seeds 10000
python -m tests.simulation --mutations     # the mistakes, each with the first seed that shows it
"""

import argparse
import sys
from multiprocessing import Pool

from .history import History, simulate
from .mutation import Mutation
from .mutations import MUTATIONS

_PROCESSES, _TOLD_EVERY = 2, 100


def _short(seed: int) -> History:
    """Without its timeline, which the seed gives back."""
    history = simulate(seed)
    return History(seed, history.findings, (), history.steps, history.runs)


def many(number: int) -> int:
    """How many of them were wrong; progress and the wrong ones are printed."""
    lived = runs = wrong = 0
    with Pool(_PROCESSES) as pool:
        for history in pool.imap_unordered(_short, range(1, number + 1), chunksize=10):
            lived, runs, wrong = lived + 1, runs + history.runs, wrong + bool(history.findings)
            if history.findings:
                print(history.told(), flush=True)
            if lived % _TOLD_EVERY == 0 or lived == number:
                print(f"{lived:,} of {number:,} histories, {runs:,} runs, {wrong} wrong", flush=True)
    return wrong


def first_seed(mutation: Mutation, most: int = 3_000) -> int | None:
    """The first one that shows a mistake."""
    shown = mutation.shown(range(1, most))
    return shown.spoiled.seed if shown else None


def mutations() -> None:
    with Pool(_PROCESSES) as pool:
        for name, seed in zip(MUTATIONS, pool.imap(first_seed, MUTATIONS.values()), strict=True):
            print(f"{seed} | {name} | {MUTATIONS[name].kind} | {MUTATIONS[name].says}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--seeds", type=int, metavar="N")
    parser.add_argument("--mutations", action="store_true")
    given = parser.parse_args()
    if given.mutations:
        mutations()
        return
    if given.seeds is not None:
        sys.exit(min(1, many(given.seeds)))
    history = simulate(given.seed)
    print(history.told())
    sys.exit(bool(history.findings))


if __name__ == "__main__":
    main()
