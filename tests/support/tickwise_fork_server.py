"""The process that hatches `tickwise` processes.

    python -m tests.support.tickwise_fork_server FD

A message is `[arguments, folder, variables]`, and beside it are a line to who asked and a file for what the
process prints. The child runs the command `tickwise` with these arguments, and says its exit code on the line. So
one that was killed is known by a line that ends without a word.
"""

import importlib
import os
import sys
import traceback
from typing import NoReturn

from tickwise.cli.main import main as tickwise

from .fork_server import fork_on_demand

_NEEDED_BY_STORES = (
    "asyncpg", "pymongo", "redis.asyncio", "tickwise.stores.mongo", "tickwise.stores.redis",
    "tickwise.stores.sql.postgres", "tickwise.stores.sql.sqlite",
    "tickwise.app",
)  # fmt: skip


def main(fd: int) -> None:
    for module in _NEEDED_BY_STORES:
        importlib.import_module(module)
    fork_on_demand(fd, _live)


def _live(arguments: list[str], folder: str, variables: dict[str, str], line: int, printed: int) -> NoReturn:
    code = 1
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.argv = ["tickwise", *arguments]
        tickwise()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:  # noqa: BLE001  (whatever it is, the test finds it in the print)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(line, str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    main(int(sys.argv[1]))
