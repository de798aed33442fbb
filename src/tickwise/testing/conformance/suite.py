"""All stories in one class."""

from .access import AuditStories, CalendarStories, ClaimStories, TokenStories
from .advance_requests import AdvanceRequestStories
from .bad_input import BadInputStories
from .blackouts import BlackoutStories
from .changes import ChangesSinceStories
from .deadlines import DeadlineStories
from .definitions import DefinitionStories
from .enqueue import CancelStories, EnqueueStories, NotificationStories, RetryStories, TriggerStories
from .event_sources import EventSourceStories
from .events import EventStories
from .expiry import ExpiryStories
from .finish import FinishStories
from .handover import HandOverStories
from .insights import FilterStories, InsightStories, PageStories
from .lease import LeaseStories
from .limits import LimitStories
from .logs import LogStories
from .overlap_and_lanes import DependencyStories, OverlapStories
from .pause import PauseOfEverythingStories, PauseStories, ScheduleChangeStories
from .retention import RetentionStories
from .run_search import RunSearchStories
from .set_back import SetBackStories
from .shadow import ShadowStories
from .slots import SlotStories
from .sources import ExtraScheduleStories, ReassignStories
from .start_budget import StartBudgetStories
from .tick import ReserveStories, TickStories
from .waits import WaitStories
from .workers import WorkerStories


class StoreConformance(
    DefinitionStories,
    ExtraScheduleStories,
    ReassignStories,
    TickStories,
    ReserveStories,
    WorkerStories,
    OverlapStories,
    DependencyStories,
    PauseStories,
    PauseOfEverythingStories,
    ScheduleChangeStories,
    AdvanceRequestStories,
    BlackoutStories,
    EventStories,
    EventSourceStories,
    DeadlineStories,
    StartBudgetStories,
    EnqueueStories,
    TriggerStories,
    CancelStories,
    RetryStories,
    NotificationStories,
    LeaseStories,
    LimitStories,
    FinishStories,
    WaitStories,
    ExpiryStories,
    HandOverStories,
    RetentionStories,
    LogStories,
    PageStories,
    FilterStories,
    InsightStories,
    SlotStories,
    ShadowStories,
    SetBackStories,
    RunSearchStories,
    ChangesSinceStories,
    TokenStories,
    AuditStories,
    ClaimStories,
    CalendarStories,
    BadInputStories,
):
    """Subclass it, name the class `Test…`, and say how an empty store is opened."""
