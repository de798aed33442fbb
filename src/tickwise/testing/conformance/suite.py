"""All stories in one class."""

from .access import AuditStories, ClaimStories, TokenStories
from .bad_input import BadInputStories
from .changed import ChangedStories
from .definitions import DefinitionStories
from .enqueueing import CancelStories, EnqueueStories, NewsStories, PutBackStories, TriggerStories
from .expiry import ExpiryStories
from .finishing import FinishStories
from .insights import FilterStories, InsightStories, PageStories
from .leasing import LeaseStories
from .limits import LimitStories
from .logs import LogStories
from .overlap_and_lanes import DependencyStories, OverlapStories
from .pausing import MovingStories, PauseOfEverythingStories, PauseStories
from .retention import RetentionStories
from .ticking import HandingOutAtOnceStories, TickingStories


class StoreConformance(
    DefinitionStories,
    TickingStories,
    HandingOutAtOnceStories,
    OverlapStories,
    DependencyStories,
    PauseStories,
    PauseOfEverythingStories,
    MovingStories,
    EnqueueStories,
    TriggerStories,
    CancelStories,
    PutBackStories,
    NewsStories,
    LeaseStories,
    LimitStories,
    FinishStories,
    ExpiryStories,
    RetentionStories,
    LogStories,
    PageStories,
    FilterStories,
    InsightStories,
    ChangedStories,
    TokenStories,
    AuditStories,
    ClaimStories,
    BadInputStories,
):
    """Subclass it, name the class `Test…`, and say how an empty store is opened."""
