"""Settings: where they come from, what goes first, and what is refused."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tickwise.config import ABOUT, DEFAULT, NAMES, Secret, Settings, load
from tickwise.core.definition import Keep, Ticking
from tickwise.core.errors import InputError
from tickwise.core.proposal import ProposedAct
from tickwise.role_grants import RoleGrant
from tickwise.runtime.engines.catalog import ConfiguredEngine
from tickwise.runtime.executors.address import Reach
from tickwise.runtime.notifications.notice import Occasion
from tickwise.runtime.notifications.routes import NotificationRoute
from tickwise.sign_on_settings import OidcSettings, TrustedHeader
from tickwise.sources.templates import Template
from tickwise.stores.access_records import AccessRole


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tickwise.toml"


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing given anywhere the settings are those of the documentation, and each says so."""
    monkeypatch.chdir(tmp_path)
    settings = load(environ={})
    assert (settings.store, settings.ticking) == ("sqlite:///.tickwise/tickwise.db", Ticking.STORE)
    assert (settings.poll, settings.claim_batch, settings.lookahead, settings.index_rebuild) == (1, 200, 3_600, 30)
    assert (settings.lease, settings.renew, settings.grace, settings.shutdown_grace) == (9, 1, 60, 30)
    assert (settings.timezone, settings.host, settings.port) == ("UTC", "127.0.0.1", 8484)
    assert (settings.concurrency, settings.queues, settings.allow_commands) == (10, ("default",), False)
    assert settings.keep == Keep(days=90, runs=10_000)
    assert settings.origins == dict.fromkeys(NAMES, DEFAULT)


def test_what_goes_first(file: Path) -> None:
    """Arguments go before variables, these before the file, and that before defaults; each tells its origin."""
    file.write_text('concurrency = 2\npoll = "2s"\nclaim_batch = 2\n')
    environ = {"TICKWISE_POLL": "3s", "TICKWISE_CLAIM_BATCH": "3"}
    settings = load({"claim_batch": 4, "host": None}, environ, file)
    assert (settings.concurrency, settings.poll, settings.claim_batch, settings.host) == (2, 3, 4, "127.0.0.1")
    origins = settings.origins
    assert (origins["concurrency"], origins["poll"]) == (str(file), "TICKWISE_POLL")
    assert (origins["claim_batch"], origins["host"]) == ("argument", DEFAULT)


GOOD: list[tuple[str, Any, Any]] = [
    ("store", "memory://", "memory://"),
    ("ticking", "local", Ticking.LOCAL),
    ("poll", "250s", 250.0),
    ("claim_batch", "7", 7),
    ("lookahead", "2h", 7_200),
    ("index_rebuild", "1m", 60.0),
    ("lease", "1m", 60),
    ("renew", "4s", 4.0),
    ("grace", "10m", 600),
    ("timezone", "Europe/Berlin", "Europe/Berlin"),
    ("shutdown_grace", "2m", 120.0),
    ("host", "::1", "::1"),
    ("port", "0", 0),
    ("keep", "days=30, runs=500", Keep(30, 500)),
    ("concurrency", " 3 ", 3),
    ("queues", "mail, default,mail", ("mail", "default")),
    ("addresses", "loopback,public", frozenset({Reach.LOOPBACK, Reach.PUBLIC})),
    ("hosts", "tick.example.com, tick", ("tick.example.com", "tick")),
    ("trusted_proxies", "10.0.0.1", ("10.0.0.1",)),
    ("certificate", "own.pem", "own.pem"),
    ("certificate_key", "own.key", "own.key"),
    ("root_path", "/tickwise/", "/tickwise"),
    ("socket", "/run/tickwise/api.sock", "/run/tickwise/api.sock"),
    ("pass_env", "AWS_*, HTTPS_PROXY", ("AWS_*", "HTTPS_PROXY")),
    ("allow_commands", "Yes", True),
    ("source", "etl, mail", ("etl", "mail")),
    ("event_folders", "/data/in, in", ("/data/in", "in")),
    ("trusted_folders", "/srv/jobs, data", ("/srv/jobs", "data")),
    ("notify_webhook", "https://hooks.example/T0/B0", Secret("https://hooks.example/T0/B0")),
    ("notify_secret", "hush", Secret("hush")),
    ("notify_command", "mail -s 'it failed' ada", ("mail", "-s", "it failed", "ada")),
    ("notify_on", "failure, missed", frozenset({Occasion.FAILURE, Occasion.MISSED})),
    (
        "notify",
        'ada = {command = ["tell"], jobs = ["etl-*"]}',
        {"ada": NotificationRoute("ada", command=("tell",), jobs=("etl-*",))},
    ),
    ("ping", "https://ping.example/uuid", Secret("https://ping.example/uuid")),
    ("ping_every", "5m", 300.0),
    ("otel", "true", True),
    ("templates", 'teatime = "0 16 * * *"', {"teatime": Template("0 16 * * *", "")}),
    ("engines", 'box = {kind = "ssh", host = "b"}', {"box": ConfiguredEngine("box", "ssh", {"host": "b"})}),
    ("secrets", 'db = "env:DB_PASSWORD"', {"db": "env:DB_PASSWORD"}),
    ("mcp", 'approve = ["pause", "skip"]', frozenset({ProposedAct.PAUSE, ProposedAct.SKIP})),
    ("watch_concurrency", "5000", 5_000),
    ("api_url", "https://tick.example.com", "https://tick.example.com"),
    (
        "oidc",
        'issuer = "https://login.example.com"\nclient_id = "tw"\nroles = {admin = ["ops"]}',
        OidcSettings("https://login.example.com", "tw", (RoleGrant(AccessRole.ADMIN, "ops"),)),
    ),
    (
        "trusted_header",
        'user = "Remote-User"\nroles = {viewer = ["*"]}',
        TrustedHeader("remote-user", (RoleGrant(AccessRole.VIEWER, "*"),)),
    ),
]


@pytest.mark.parametrize(("name", "text", "value"), GOOD)
def test_every_setting_as_text(name: str, text: str, value: Any) -> None:
    """A variable sets each of them, in the words of job files."""
    assert getattr(load(environ={f"TICKWISE_{name.upper()}": text}), name) == value


def test_every_setting_is_tested() -> None:
    """No setting is left out above or below, and each says what it is for."""
    assert [name for name, _, _ in GOOD] == NAMES
    assert [name for name, _ in BAD] == NAMES
    assert all(ABOUT[name] for name in NAMES)


def test_values_of_their_own_kind(file: Path) -> None:
    """A file and arguments may give numbers, lists and booleans; a number is seconds."""
    file.write_text(
        'poll = 0.5\nqueues = ["mail", "default"]\nallow_commands = true\naddresses = ["private"]\n'
        "keep = {days = 7}\n"
    )
    settings = load({"lease": 90, "grace": 0.4}, {}, file)
    assert [load({"keep": given}, {}).keep for given in ("forever", "runs=5")] == [Keep(), Keep(runs=5)]
    assert (settings.poll, settings.queues, settings.allow_commands) == (0.5, ("mail", "default"), True)
    assert settings.keep == Keep(days=7)
    assert (settings.addresses, settings.lease, settings.grace) == (frozenset({Reach.PRIVATE}), 90, 1)


BAD: list[tuple[str, list[Any]]] = [
    ("store", ["", 7, ["memory://"]]),
    ("ticking", ["stores", 1, True]),
    ("poll", ["1", "0s", "-1s", "soon", 0, -1, True, float("nan"), float("inf"), [1]]),
    ("claim_batch", ["0", "-1", "many", "1.5", 0, 1.5, True, 10**9, "²"]),
    ("lookahead", ["1", "", 0]),
    ("index_rebuild", ["1", "", 0]),
    ("lease", ["30", "0s", 0]),
    ("renew", ["10", "0s", 0]),
    ("grace", ["60", "0s", 0]),
    ("timezone", ["Europe/Berln", "", 7]),
    ("shutdown_grace", ["30", "0s", 0]),
    ("host", ["", 7]),
    ("port", ["-1", "65536", "http", 65_536, True]),
    ("keep", ["", "30", "30d", "days", "days=0", "weeks=3", "runs=-1", {}, {"days": True}, 30, ["days"]]),
    ("concurrency", ["0", "", 0]),
    ("queues", ["", "a b", ",", [], [7], 7]),
    ("addresses", ["privat", "loopback,", [7], 7]),
    ("hosts", ["a,,b", 7, [""]]),
    ("trusted_proxies", [",", 7]),
    ("certificate", ["", 7]),
    ("certificate_key", ["", 7]),
    ("root_path", ["tickwise", "", "//", 7]),
    ("socket", ["", 7]),
    ("pass_env", ["", 7, "A B", "*_KEY", "1A", "TICKWISE_TOKEN", "TICKWISE_*"]),
    ("allow_commands", ["maybe", "", 1, 0]),
    ("source", ["", 7, "a/b", ["etl", 7], []]),
    ("event_folders", ["", 7, ["/srv", 7]]),
    ("trusted_folders", ["", 7, ["/srv", 7]]),
    ("notify_webhook", []),
    ("notify_secret", []),
    ("notify_command", ["", "'half", [], [7], 7]),
    ("notify_on", ["failures", "failure,", 7]),
    ("notify", []),  # tests/runtime/test_notification_routes.py: its value is not shown
    ("ping", []),
    ("ping_every", ["60", "0s", 0]),
    ("otel", ["maybe", 1]),
    ("templates", ["teatime", 7, {"a b": "@daily"}, {"tea": "61 * * * *"}, {"tea": {"cronn": "@daily"}}]),
    ("engines", ["gpu", 7, {"a b": {"kind": "ray"}}, {"gpu": "ray"}, {"gpu": {"kind": "rays"}}, {"gpu": {}}]),
    ("secrets", []),
    ("mcp", ["approve", 7, 'approve = "pause"', 'aprove = ["pause"]', "approve = [1]", 'approve = ["puase"]']),
    ("watch_concurrency", ["0", "many"]),
    ("api_url", ["", 7]),
    ("oidc", []),
    ("trusted_header", ["proxy", 7, {}, {"user": "Remote-User"}, {"user": "Cookie", "roles": {"admin": ["ops"]}}]),
]
SECRET = [
    ("notify_webhook", "hooks.example/hush"),
    ("notify_secret", ["hush"]),
    ("ping", "ftp://hush"),
    ("ping", "http://[hush"),
    ("secrets", "hush"),
    ("secrets", ["hush"]),
    ("oidc", "hush"),
    ("oidc", ["hush"]),
    ("oidc", {"issuer": "hush", "client_id": "hush", "roles": {"admin": ["hush"]}, "session": "8d"}),
]


@pytest.mark.parametrize(("name", "value"), SECRET)
def test_bad_secrets(name: str, value: Any) -> None:
    """What is wrong with a secret is told without telling it."""
    with pytest.raises(InputError, match=f"argument: {name} is …: .*write a") as caught:
        load({name: value}, {})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD for value in values])
def test_bad_values(name: str, value: Any) -> None:
    """What a setting cannot be is refused with its name and the value; as an argument, and as a variable."""
    with pytest.raises(InputError) as caught:
        load({name: value}, {})
    assert str(caught.value).startswith(f"argument: {name} is {value!r}: ")
    if isinstance(value, str):
        with pytest.raises(InputError) as caught:
            load(environ={f"TICKWISE_{name.upper()}": value})
        assert str(caught.value).startswith(f"TICKWISE_{name.upper()}: {name} is {value!r}: ")


def test_a_bad_value_in_a_file(file: Path) -> None:
    """The file is named, and what to write instead."""
    file.write_text("concurrency = 0\n")
    with pytest.raises(InputError) as caught:
        load(environ={}, file=file)
    assert str(caught.value) == f"{file}: concurrency is 0: write a whole number from 1 to 1000000"


def test_unknown_settings(file: Path) -> None:
    """What nobody knows is refused with the nearest, wherever it stands."""
    wrong = r"there is no setting 'timezon' \(did you mean timezone\?\)"
    file.write_text('timezon = "UTC"\n')
    with pytest.raises(InputError, match=wrong) as caught:
        load(environ={}, file=file)
    assert str(caught.value).startswith(f"{file}: ")
    with pytest.raises(InputError, match=wrong):
        load(environ={"TICKWISE_TIMEZON": "UTC"})
    with pytest.raises(InputError, match=f"argument: {wrong}"):
        load({"timezon": "UTC"}, {})
    with pytest.raises(InputError, match="there is no setting 'origins'"):
        load({"origins": {}}, {})


def test_variables_that_are_no_settings() -> None:
    """What runs are told, and what our tests are, is not taken for settings; nor is what others call theirs."""
    others = ["TICKWISE_SLOT", "TICKWISE_PARAM_TABLE", "TICKWISE_TEST_POSTGRES", "TICKWISE_TOKEN", "POLL"]
    assert load(environ=dict.fromkeys(others, "x")) == load(environ={})


def test_settings_can_be_handed_on() -> None:
    """What was read once, secrets and templates among it, is read again as it is: by a process of ours, too."""
    given = {name: text for name, text, _ in GOOD}
    first = load(given, {})
    values = pickle.loads(pickle.dumps({name: getattr(first, name) for name in NAMES}))  # noqa: S301  (our own)
    assert load(values, {}) == first
    shown = [
        str(secret) for secret in (first.notify_webhook, first.notify_secret, Secret("http://a:b@c/"), Secret(""))
    ]
    assert shown == ["https://hooks.example/…", "…", "…", ""]


def test_files_that_cannot_be_read(file: Path, tmp_path: Path) -> None:
    """A named file must be there, and must be TOML; a folder is none."""
    with pytest.raises(InputError, match=r"there is no file .*tickwise\.toml"):
        load(environ={}, file=file)
    file.write_text("poll = = 1")
    with pytest.raises(InputError, match=r"tickwise\.toml cannot be read: .*line 1"):
        load(environ={}, file=file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"tickwise\.toml cannot be read"):
        load(environ={}, file=file)
    with pytest.raises(InputError, match="cannot be read"):
        load(environ={}, file=tmp_path)


def test_the_file_of_the_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no file is named, the `tickwise.toml` of the folder is read if there is one."""
    monkeypatch.chdir(file.parent)
    file.write_text("concurrency = 3\n")
    settings = load(environ={})
    assert (settings.concurrency, settings.origins["concurrency"]) == (3, "tickwise.toml")


def test_renewals_fit_into_the_lease(file: Path) -> None:
    """A worker renews nine times in a lease unless told; less than twice is refused, naming who says so (S42)."""
    assert load({"lease": "15m"}, {}).renew == 100
    assert load({"lease": 20, "renew": 10}, {}).renew == 10
    file.write_text('lease = "20s"\n')
    with pytest.raises(InputError, match=r"TICKWISE_RENEW: renew is 11 s and lease is 20s: renew at least twice"):
        load(environ={"TICKWISE_RENEW": "11s"}, file=file)


def test_settings_are_values() -> None:
    """Settings cannot be changed in place."""
    with pytest.raises(AttributeError):
        Settings().poll = 2  # type: ignore[misc]  # that is what is tried


def shown(folder: Path, *arguments: str, **variables: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TICKWISE_")}
    command = [str(Path(sys.executable).with_name("tickwise")), "config", "show", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={**clean, **variables}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


STORE = "postgresql://ada:hush@db.internal/shop?sslpassword=hush"


def test_shown_to_people(file: Path) -> None:
    """`tickwise config show` lists every setting with its value and origin; passwords are left out."""
    file.write_text("concurrency = 3\n")
    lines = shown(file.parent, TICKWISE_STORE=STORE, TICKWISE_QUEUES="mail,default").splitlines()
    rows = {line.split()[0]: line for line in lines[1:]}
    assert list(rows) == NAMES
    assert rows["concurrency"].split()[1:3] == ["3", "tickwise.toml"]
    assert "mail, default" in rows["queues"]
    assert "TICKWISE_QUEUES" in rows["queues"]
    assert rows["poll"].split()[1:3] == ["1", "default"]
    assert "postgresql://ada:…@db.internal/shop?sslpassword=…" in rows["store"]


def test_shown_to_programs(file: Path) -> None:
    """`--json` gives the same as an object for each setting."""
    file.write_text('concurrency = 3\nlease = "1m"\n')
    settings = json.loads(shown(file.parent, "--json", TICKWISE_QUEUES="mail"))
    assert list(settings) == NAMES
    about = ABOUT["concurrency"]
    assert settings["concurrency"] == {"value": 3, "origin": "tickwise.toml", "about": about}
    assert (settings["queues"]["value"], settings["queues"]["origin"]) == (["mail"], "TICKWISE_QUEUES")
    assert (settings["lease"]["value"], settings["renew"]["value"], settings["renew"]["origin"]) == (
        60,
        60 / 9,
        DEFAULT,
    )


@pytest.mark.parametrize("way", [(), ("--json",)])
def test_secrets_are_not_shown(file: Path, way: tuple[str, ...]) -> None:
    """Of web addresses only the host is shown, of keys nothing; neither to people nor to programs."""
    file.write_text('notify_webhook = "https://hooks.example/hush"\nnotify_secret = "hush"\n')
    text = shown(file.parent, *way, TICKWISE_PING="https://ping.example/hush?x=hush", TICKWISE_NOTIFY_ON="missed")
    assert "hush" not in text
    assert "https://hooks.example/…" in text
    assert "https://ping.example/…" in text
