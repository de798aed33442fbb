"""The person at this machine, for the audit log."""

import getpass


def user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the user has no name
        return "command line"
