"""The program `tickwise`, also as `python -m tickwise`. It says so if a package is missing (docs/adr/0056)."""

import re
import sys
from importlib.metadata import requires


def main() -> None:
    try:
        from .cli.main import main as run_command  # noqa: PLC0415  (it needs Typer, which may be missing)

        run_command()
    except ModuleNotFoundError as error:
        if not _is_dependency(error.name or ""):
            raise
        print(f"error: {error.name} is not installed: pip install 'tickwise[server]'", file=sys.stderr)  # noqa: T201
        sys.exit(2)


def _is_dependency(module: str) -> bool:
    """Whether a package of the base has this module; the names of both are alike."""
    packages = (re.split(r"[^\w.-]", text)[0].replace("-", "_") for text in requires("tickwise") or ())
    return module in packages


if __name__ == "__main__":
    main()
