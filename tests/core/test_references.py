"""References in commands: where they may stand, and what is filled in for them."""

import pytest

from tickwise.core.errors import InputError
from tickwise.core.references import check_command, check_script, fill_command, fill_text

X = "${params.x}"
EMBEDDED = [
    ["sh", "-c", "ls ${params.x}"],
    ["bash", "-ce", "ls ${params.x}"],
    ["bash", "-c", "--", "ls ${params.x}"],
    ["env", "sh", "-c", "ls ${params.x}"],
    ["timeout", "5", "sh", "-c", "ls ${params.x}"],
    ["flock", "lock", "-c", "ls ${params.x}"],
    ["script", "-qc", "ls ${params.x}"],
    ["bash", "-o", "pipefail", "-c", "ls ${params.x}"],
    ["busybox", "sh", "-c", "ls ${params.x}"],
    ["su", "app", "-c", "ls ${params.x}"],
    ["ssh", "host", "ls ${params.x}"],
    ["xargs", "sh", "-c", "ls ${params.x}"],
    ["find", ".", "-exec", "sh", "-c", "ls ${params.x}", ";"],
    ["python3", "-c", "print('${params.x}')"],
    ["perl", "-e", "print '${params.x}'"],
    ["awk", 'BEGIN { system("${params.x}") }'],
    ["nice", "sh", "-c", "ls ${params.x}"],
    ["any-program", "--file=${params.x}"],
    ["any-program", "${params.x}${params.x}"],
    ["any-program", "${run.slot}.csv"],
]


@pytest.mark.parametrize("arguments", EMBEDDED, ids=" ".join)
def test_a_reference_is_an_argument_of_its_own(arguments: list[str]) -> None:
    """B2: whatever the program is, text around a reference is refused: it could be code or an option."""
    with pytest.raises(InputError, match="it must be an argument of its own"):
        check_command(arguments)


def test_an_option_with_a_value_is_written_as_two_arguments() -> None:
    """B2: the error says how."""
    with pytest.raises(InputError, match=r"write it as two arguments, --table and \$\{params.x\}"):
        check_command(["etl", f"--table={X}"])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([X, "a"], "does not choose the program"),
        (["env", X], "does not choose the program"),
        (["env", "A=1", "B=2", X], "does not choose the program"),
        (["timeout", "5s", X], "does not choose the program"),
        (["timeout", "1.5", "nice", X], "does not choose the program"),
        (["sudo", "-u", "bob", X], "write -- before that program"),
        (["sudo", "-u", "bob", "--", X], "does not choose the program"),
        (["env", "-S", "sh -c", X, "--"], "write -- before that program"),
        (["sh", "-c", X], "sh with -c may have code in it"),
        (["bash", "-ce", X], "bash with -ce may have code in it"),
        (["bash", "-c", "--", X], "bash with -c may have code in it"),
        (["/bin/bash", "-c", 'echo "$1"', "bash", X], "bash with -c may have code in it"),
        (["env", "sh", "-c", X], "sh with -c may have code in it"),
        (["timeout", "5", "sh", "-c", X], "sh with -c may have code in it"),
        (["nice", "-n", "5", "--", "sh", "-c", X], "sh with -c may have code in it"),
        (["sh", X], "it would choose what sh executes"),
        (["python3.12", "-c", X], "python with -c may have code in it"),
        (["python3", "-u", X], "it would choose what python executes"),
        (["python3", "-m", X], "it would choose what python executes"),
        (["perl", "-E", X], "perl with -E may have code in it"),
        (["node", "-e", X], "node with -e may have code in it"),
        (["php", "-r", X], "php with -r may have code in it"),
        (["flock", "lock", "-c", X], "flock reads its arguments as code"),
        (["script", "-qc", X], "script reads its arguments as code"),
        (["awk", "{print}", X], "awk reads its arguments as code"),
        (["ssh", "host", "ls", X], "ssh reads its arguments as code or passes them to a shell"),
        (["su", "app", "-c", X], "su reads its arguments"),
        (["find", ".", "-exec", X, ";"], "find reads its arguments"),
        (["busybox", "sh", "-c", X], "busybox reads its arguments"),
        (["docker", "run", "image", "sh", "-c", X], "sh -c may have code in it"),
        (["wrapper", "python3", "-c", "code", X], "python3 -c may have code in it"),
        (["wrapper", "-c", X], "-c may take code"),
        (["wrapper", "--command", X], "--command may take code"),
    ],
)
def test_no_program_gets_a_value_as_code(arguments: list[str], why: str) -> None:
    """B2: a value neither chooses a program nor is read as code, also behind programs that start others."""
    with pytest.raises(InputError, match=why) as refused:
        check_command(arguments)
    assert "use the variable TICKWISE_PARAM_X in a script" in str(refused.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["echo", X],
        ["etl", "--table", X, "--slot", "${run.slot}"],
        ["python3", "etl.py", X],
        ["python3", "-u", "-m", "etl", X],
        ["bash", "etl.sh", X],
        ["env", "A=1", "python3", "etl.py", X],
        ["timeout", "60", "pg_dump", X],
        ["nice", "-n", "5", "--", "pg_dump", X],
        ["sh", "-c", "ls $HOME"],
        ["tar", "-czf", "out.tgz", X],
        ["docker", "run", "image", X],
        ["echo", "${HOME}"],
    ],
)
def test_where_references_may_stand(arguments: list[str]) -> None:
    """B2: an argument of its own, of a program or behind the file of an interpreter."""
    check_command(arguments)


def test_values_are_filled_in() -> None:
    """An argument gets the value as it is; other text in braces stays."""
    values = {"params.x": "a; b", "run.slot": "2026"}
    assert fill_command(["echo", X, "${run.slot}", "${HOME}"], values) == ["echo", "a; b", "2026", "${HOME}"]
    assert fill_command(["echo", "-n"], values) == ["echo", "-n"]
    assert fill_text("${run.slot}/${params.x}", values) == "2026/a; b"


def test_a_name_without_a_value() -> None:
    """It is refused with the nearest."""
    with pytest.raises(InputError, match=r"no value for \$\{params.tabel\} \(did you mean params.table\?\)"):
        fill_text("${params.tabel}", {"params.table": "orders"})


def test_a_value_that_begins_with_a_dash() -> None:
    """B2: it needs a -- before it."""
    with pytest.raises(InputError, match="begins with - and would be read as an option"):
        fill_command(["ls", X, "--"], {"params.x": "-l"})
    assert fill_command(["ls", "--", X], {"params.x": "-l"}) == ["ls", "--", "-l"]


@pytest.mark.parametrize(
    "text", ["echo ${params.x}", "#!/bin/bash\n${params.x}", "#!/usr/bin/env zsh\n${params.x}"]
)
def test_shell_scripts_get_variables_only(text: str) -> None:
    """B2: a reference in one is refused with the name of its variable."""
    with pytest.raises(InputError, match="a script is not filled in; use the variable TICKWISE_PARAM_X"):
        check_script(text)


def test_secrets_are_no_arguments() -> None:
    """S76: everybody on a machine can read arguments, so a secret is handed over as a variable."""
    for arguments in (["curl", "${secret:key}"], ["curl", "--header=${secret:key}"]):
        with pytest.raises(InputError, match=r"secret:key. cannot stand there: .*hand it over in env"):
            check_command(arguments)


@pytest.mark.parametrize(
    ("name", "advice"), [("item", "TICKWISE_ITEM"), ("steps.a.outputs.b", "hand it over in env")]
)
def test_other_references_are_data_too(name: str, advice: str) -> None:
    """S72, S73: outputs and items stand where params may; the advice names their variable if they have one."""
    check_command(["etl", f"${{{name}}}"])
    with pytest.raises(InputError, match=advice):
        check_command(["sh", "-c", f"${{{name}}}"])


@pytest.mark.parametrize(
    "text",
    [
        "for item in a b; do echo ${item}; done",
        "echo ${secret:-none}",
        "echo $HOME",
        "#!/usr/bin/env node\nconsole.log(`${params.x}`)",
    ],
)
def test_scripts_are_not_read_otherwise(text: str) -> None:
    """Other languages have their own meaning for such text."""
    check_script(text)


def test_facts_of_a_run_are_variables_too() -> None:
    """The advice names the variable by which a program gets the same."""
    for reference, variable in (("${run.id}", "TICKWISE_RUN_ID"), ("${run.slot}", "TICKWISE_SLOT")):
        with pytest.raises(InputError, match=variable):
            check_command(["sh", "-c", "ls", reference])
