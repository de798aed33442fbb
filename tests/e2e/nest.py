"""The process that hatches `tickwise` processes: everything is imported here once, and nothing is opened.

    python -m tests.e2e.nest FD

Each message on the socket is `[arguments, folder, variables]` as JSON, with two descriptors beside it: a line to
who asked, and a file for what the process prints. A child is forked and its pid answered; it runs the command
`tickwise` with these arguments, and says its exit code on the line. So a real process with the real command costs
milliseconds, and one that was killed is known by a line that ends without a word.
"""

import importlib
import json
import os
import signal
import socket
import sys
import traceback
from typing import NoReturn

from tickwise.cli.main import main as tickwise

LONGEST = 65_536
_NEEDED_BY_STORES = ("asyncpg", "tickwise.stores.sql.postgres", "tickwise.stores.sql.sqlite", "tickwise.app")


def main(fd: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the system
    for module in _NEEDED_BY_STORES:
        importlib.import_module(module)
    with socket.socket(fileno=fd) as asked:
        while True:
            message, handed, _, _ = socket.recv_fds(asked, LONGEST, 2)
            if not message:
                return
            pid = os.fork()
            if pid == 0:
                asked.close()
                _live(*json.loads(message), *handed)
            for each in handed:
                os.close(each)
            asked.send(str(pid).encode())


def _live(arguments: list[str], folder: str, variables: dict[str, str], line: int, printed: int) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
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
