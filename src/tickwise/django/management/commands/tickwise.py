"""`manage.py tickwise`: the commands of `tickwise`, with the project's app and settings."""

from argparse import REMAINDER, ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ....cli.main import main
from ....cli.project import use_app
from ... import tw


class TickwiseCommand(BaseCommand):
    """Passes its arguments on; Django has read `--settings` and `--pythonpath` by then."""

    help = "Tickwise: serve, worker, schedules, runs, why … as `tickwise --help` lists them."
    requires_system_checks: Sequence[str] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        known = ArgumentParser(add_help=False, allow_abbrev=False)
        for option in ("--settings", "--pythonpath"):
            known.add_argument(option)
        _, arguments = known.parse_known_args(argv[2:])
        _run(arguments, f"{Path(argv[0]).name} {argv[1]}")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs=REMAINDER)

    def handle(self, *_: Any, **options: Any) -> None:
        _run(options["arguments"], "tickwise")


Command = TickwiseCommand  # as Django looks for it


def _run(arguments: Sequence[str], program: str) -> None:
    use_app(tw.awaited)
    main(arguments, program)
