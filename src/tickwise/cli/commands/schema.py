"""`tickwise schema`: the JSON Schema of job files."""

from ...sources.spec.schema import json_schema
from ..output import print_json


def schema() -> None:
    """Print the JSON Schema of job files, for editors and other checkers."""
    print_json(json_schema())
