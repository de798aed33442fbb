"""A real OpenID provider: npm's `oidc-provider`, installed from its pins into the cache folder on first use."""

import json
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from bench.stores.isolated_peers.environment import cache_folder

from .process import Server, free_port, own_folder, run, running

SECRET = "a secret of this client"  # noqa: S105  (of this server)
_PINS = Path(__file__).parent / "oidc_provider_pins"
_FILES = ("package.json", "package-lock.json", "provider.mjs")


@contextmanager
def server(redirect: str, groups: Mapping[str, Sequence[str]]) -> Iterator[Server]:
    """Start one that sends browsers back to this address; its people have these groups."""
    port = free_port()
    with own_folder() as folder:
        variables = {"PORT": str(port), "REDIRECT": redirect, "SECRET": SECRET, "GROUPS": json.dumps(groups)}
        settings = [f"{name}={value}" for name, value in variables.items()]
        command: list[str | Path] = ["env", *settings, "node", _installed() / "provider.mjs"]
        with running(command, folder, ready="the provider is ready", end=signal.SIGTERM) as process:
            yield Server(f"http://127.0.0.1:{port}", process, folder)


def _installed() -> Path:
    """The folder with the provider and the packages that it needs; no program of theirs is executed."""
    pins = b"".join((_PINS / name).read_bytes() for name in _FILES)
    home = cache_folder() / f"oidc-provider-{sha256(pins).hexdigest()[:12]}"
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        for name in _FILES:
            shutil.copy(_PINS / name, home)
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], home)
        (home / "complete").touch()
    return home
