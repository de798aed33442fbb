"""All stories in one class."""

from .bad_input import BadEngineInputStories
from .control import ControlStories
from .look import LookStories
from .outage import OutageStories
from .submit import SubmitStories


class EngineConformance(
    SubmitStories,
    LookStories,
    ControlStories,
    OutageStories,
    BadEngineInputStories,
):
    """Subclass it, name the class `Test…`, and describe the engine."""
