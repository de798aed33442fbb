"""What the tests of all kinds share: the jobs of texts, as a node reads their files."""

from tickwise.cli.imported_jobs import JobFile, build_job_files
from tickwise.importers.model import Imported
from tickwise.sources.defaults import NO_DEFAULTS

START = 1_798_761_600  # 2027-01-01T00:00:00Z
YEAR = 365 * 86_400


def files_of(imported: Imported) -> list[JobFile]:
    """All jobs; none may be refused."""
    files, refused = build_job_files(imported, NO_DEFAULTS, START, START + YEAR)
    assert not refused
    return files
