-- The tables of a SQL store. `{word}` is written by the dialect (see dialect.py): {key} is the type of texts in an
-- index (at most 200 characters), {short} of others that are limited (1,000), {text} of all others. What is between
-- {if_partial} and {end_partial} is the condition of an index, and what is between {if_whole} and {end_whole} stands
-- where indexes have no conditions: then the columns of the condition come first in the index.
--
-- Columns in seconds: slot, cursor, wake_at, and all that is planned in slots. Columns in microseconds: the others
-- that end in _at.

CREATE TABLE tickwise_definitions (  -- the text of jobs and schedules, each once; a row never changes
    id {id},
    digest {key} NOT NULL UNIQUE,
    body {text} NOT NULL
) {plain};

CREATE TABLE tickwise_jobs (
    id {id},
    name {name} NOT NULL UNIQUE,
    source {short} NOT NULL,
    definition_id bigint NOT NULL,
    version bigint NOT NULL,
    queue {key} NOT NULL,
    priority bigint NOT NULL,
    requires {short} NOT NULL,    -- what a worker must offer to execute it
    lanes bigint NOT NULL,      -- the most that a schedule of the job allows
    history_from bigint,
    keep_days bigint,
    keep_runs bigint,
    prune_at bigint,            -- when to look for runs that need not be kept
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
) {room_for_updates};
CREATE INDEX tickwise_jobs_prune ON tickwise_jobs (prune_at) {if_partial}WHERE prune_at IS NOT NULL{end_partial};

-- What every pass changes about a job, in a narrow row: cheap to lock, to read and to write. This row is the lock of
-- the job. Its pages are full: room for updates would not spare the index entries, because wake_at is in an index.
CREATE TABLE tickwise_job_state (
    job_id bigint PRIMARY KEY,
    revision bigint NOT NULL,   -- grows when anything but this row is written about the job or its schedules
    wake_at bigint,             -- when a pass must look at the job: the least of its schedules'; none for never
    idle boolean NOT NULL,      -- never: without it, a wake_at that is none has been lost
    local boolean NOT NULL,     -- nodes tick it from their own index, and no claim finds it
    guarded boolean NOT NULL,   -- a policy asks for its last success or its last run by hand
    waiting boolean NOT NULL,   -- a slot waits for a run of the job to end
    held boolean NOT NULL,      -- a slot waits for a worker that may execute the job
    pause_seen bigint NOT NULL, -- the last pause of everything whose end its schedules know
    last_manual bigint,
    last_success bigint,
    {if_whole}lost boolean GENERATED ALWAYS AS (wake_at IS NULL AND NOT idle) {generated},{end_whole}
    "cursor" bigint,            -- of the job's only schedule, if that has moved since its own row was written
    last_seen_slot bigint,      -- likewise, if there is a cursor
    last_slot bigint,
    runs_made bigint            -- since the schedule's own row was written
) {plain};
{if_partial}CREATE INDEX tickwise_job_state_affected ON tickwise_job_state (job_id) WHERE waiting OR guarded{end_partial};
CREATE INDEX tickwise_job_state_held ON tickwise_job_state ({if_whole}held, {end_whole}job_id) {if_partial}WHERE held = TRUE{end_partial};
CREATE INDEX tickwise_job_state_due ON tickwise_job_state ({if_whole}local, {end_whole}wake_at) {if_partial}WHERE wake_at IS NOT NULL AND local = FALSE{end_partial};
CREATE INDEX tickwise_job_state_lost ON tickwise_job_state ({if_whole}lost, {end_whole}job_id) {if_partial}WHERE wake_at IS NULL AND NOT idle{end_partial};

CREATE TABLE tickwise_versions (  -- of a job's definition
    job_id bigint NOT NULL,
    version bigint NOT NULL,
    definition_id bigint NOT NULL,
    made_at bigint NOT NULL,
    PRIMARY KEY (job_id, version)
) {plain};

CREATE TABLE tickwise_dependencies (  -- a job whose schedules wait for successes of another (after)
    needed_job_id bigint NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (needed_job_id, job_id)
) {plain};

CREATE TABLE tickwise_schedules (
    id {id},
    name {name} NOT NULL UNIQUE,
    job_id bigint NOT NULL,
    definition_id bigint NOT NULL,
    "cursor" bigint NOT NULL,
    last_seen_slot bigint NOT NULL,
    last_missed_slot bigint NOT NULL,
    edited bigint NOT NULL,     -- seconds, as are first_seen and deleted
    first_seen bigint NOT NULL,
    runs_made bigint NOT NULL,
    rest {text},                  -- pause, move, backfill, deferral and the like; mostly none
    last_slot bigint,           -- the newest slot that has a run
    wake_at bigint,
    paused boolean NOT NULL,    -- as rest says; a write of this column alone would be ignored, so it is refused
    times {text},                 -- as written; this and the next two are for people
    timezone {short},
    pause_reason {text},
    deleted bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT use_tickwise_schedules_pause_or_resume CHECK (
        paused = (coalesce(rest, '') LIKE '%"manual_pause":{{%'
            OR (coalesce(rest, '') LIKE '%"disabled":{{%' AND coalesce(rest, '') NOT LIKE '%"overruled":%')))
) {room_for_updates};
CREATE INDEX tickwise_schedules_job ON tickwise_schedules (job_id);
CREATE INDEX tickwise_schedules_updated ON tickwise_schedules (updated_at);

-- Schedules as they stand: the row of a job's state overrides the row of its only schedule.
CREATE VIEW tickwise_schedule_state AS
SELECT s.id, s.name, s.job_id, s.definition_id, s.last_missed_slot, s.edited, s.first_seen, s.rest, s.paused,
    s.times, s.timezone, s.pause_reason, s.deleted, s.created_at, s.updated_at, a.local,
    CASE WHEN a.cursor IS NULL OR s.deleted IS NOT NULL THEN s.cursor ELSE a.cursor END AS "cursor",
    CASE WHEN a.cursor IS NULL OR s.deleted IS NOT NULL THEN s.last_seen_slot ELSE a.last_seen_slot END
        AS last_seen_slot,
    CASE WHEN a.cursor IS NULL OR s.deleted IS NOT NULL THEN s.runs_made ELSE s.runs_made + a.runs_made END
        AS runs_made,
    CASE WHEN a.cursor IS NULL OR s.deleted IS NOT NULL THEN s.last_slot ELSE a.last_slot END AS last_slot,
    CASE WHEN a.wake_at IS NULL THEN NULL WHEN a.cursor IS NULL OR s.deleted IS NOT NULL THEN s.wake_at
        ELSE a.wake_at END AS wake_at
FROM tickwise_schedules s JOIN tickwise_job_state a ON a.job_id = s.job_id;

CREATE TABLE tickwise_runs (
    id {id},
    job_id bigint NOT NULL,
    schedule_id bigint,
    slot bigint,
    lane bigint,                -- held until the run is over
    run_key {key},
    key_ttl bigint,             -- seconds after its success when the key is free; 0: it was freed
    trigger_name {short} NOT NULL,
    state {short} NOT NULL,
    definition_id bigint NOT NULL,  -- of the job, as it was then
    schedule_definition_id bigint,  -- as it was then
    queue {key} NOT NULL,
    priority bigint NOT NULL,
    requires {short} NOT NULL,    -- what a worker must offer to execute it
    params {text},
    due_at bigint NOT NULL,     -- not before
    expires_at bigint,
    created_at bigint NOT NULL,
    claimed_by {short},            -- the ticker that made it
    requested_by {short},
    traceparent {short},        -- of the caller that asked for it
    auto_remove boolean NOT NULL,
    node {short},
    token {short},
    lease_until bigint,
    attempt bigint NOT NULL,
    failures bigint NOT NULL,
    losses bigint NOT NULL,
    cancelling boolean NOT NULL,
    started_at bigint,
    finished_at bigint,
    result {text},
    error {text},
    waits_for {text},           -- what its steps wait for, while it is queued in an attempt that has begun
    queued boolean GENERATED ALWAYS AS (state = 'queued') {generated},
    {if_whole}urgency bigint GENERATED ALWAYS AS (-priority) {generated}, session bigint DEFAULT (connection_id()),{end_whole}
    held_key {key} GENERATED ALWAYS AS (  -- the key, while no other run may have it
        CASE WHEN run_key IS NULL OR key_ttl <= 0 THEN NULL
            WHEN state = 'succeeded' OR state = 'running' OR state = 'queued' THEN run_key END
    ) {generated},
    unusual {key} GENERATED ALWAYS AS (  -- how it ended, unless it simply succeeded; or its state after an error
        CASE WHEN state = 'succeeded' AND attempt > 1 THEN 'retried'
            WHEN error IS NOT NULL THEN state
            WHEN state <> 'succeeded' AND state <> 'running' AND state <> 'queued' THEN state END
    ) {generated}
) {room_for_ends};
-- No index contains a column that an ordinary end of a run changes, so PostgreSQL writes the end on the page of its
-- beginning and to no index: `unusual` is none before and after it. Runs end about in the order in which they were
-- made: a summary of each range of pages is enough to find them by their end. SQLite computes generated columns at
-- each write: there `IN` with three values costs as much as all else.
CREATE UNIQUE INDEX tickwise_runs_slot ON tickwise_runs (schedule_id, slot) {if_partial}WHERE slot IS NOT NULL{end_partial};
CREATE UNIQUE INDEX tickwise_runs_key ON tickwise_runs (job_id, held_key) {if_partial}WHERE held_key IS NOT NULL{end_partial};
CREATE INDEX tickwise_runs_queue ON tickwise_runs ({if_whole}queued, {end_whole}queue, {urgent_first}, due_at, id) {if_partial}WHERE queued = TRUE{end_partial};
CREATE INDEX tickwise_runs_expiry ON tickwise_runs ({if_whole}queued, {end_whole}expires_at) {if_partial}WHERE queued = TRUE AND expires_at IS NOT NULL{end_partial};
CREATE INDEX tickwise_runs_again ON tickwise_runs ({if_whole}queued, {end_whole}started_at) {if_partial}WHERE queued = TRUE AND started_at IS NOT NULL{end_partial};
CREATE INDEX tickwise_runs_job ON tickwise_runs (job_id, id);
-- For people: runs that did not simply succeed, or that somebody asked for, the newest first. A read that sorts by
-- `id + 0` is served by these, and by no index of all runs.
{if_partial}CREATE INDEX tickwise_runs_unusual ON tickwise_runs ((id + 0), unusual, job_id) WHERE unusual IS NOT NULL{end_partial};
{if_partial}CREATE INDEX tickwise_runs_unusual_slot ON tickwise_runs (schedule_id, slot, unusual) WHERE unusual IS NOT NULL{end_partial};
{if_partial}CREATE INDEX tickwise_runs_rare_trigger ON tickwise_runs ((id + 0), trigger_name) WHERE trigger_name NOT IN ('schedule', 'enqueue'){end_partial};
CREATE INDEX tickwise_runs_finished ON tickwise_runs {range_index} (finished_at) {range_options};

CREATE TABLE tickwise_active_runs (  -- runs that hold a lane of their job, and all that run
    job_id bigint NOT NULL,
    lane bigint NOT NULL,       -- of a run that holds none: its id, negated
    run_id bigint NOT NULL,
    running boolean NOT NULL,
    PRIMARY KEY (job_id, lane)
) {room_for_updates};
CREATE INDEX tickwise_active_runs_running ON tickwise_active_runs ({if_whole}running, {end_whole}run_id) {if_partial}WHERE running = TRUE{end_partial};

CREATE TABLE tickwise_attempts (  -- those before the last
    run_id bigint NOT NULL,
    number bigint NOT NULL,
    event {short} NOT NULL,
    started_at bigint,
    finished_at bigint NOT NULL,
    node {short},
    error {text},
    PRIMARY KEY (run_id, number)
) {plain};

CREATE TABLE tickwise_hand_overs (  -- of attempts to engines
    run_id bigint NOT NULL,
    attempt bigint NOT NULL,
    patience bigint NOT NULL,   -- microseconds after its lease when nobody may adopt it any more
    record {text} NOT NULL,
    PRIMARY KEY (run_id, attempt)
) {plain};

CREATE TABLE tickwise_steps (
    run_id bigint NOT NULL,
    name {key} NOT NULL,
    position bigint NOT NULL,
    state {short} NOT NULL,
    started_at bigint,
    finished_at bigint,
    attempt bigint NOT NULL,
    error {text},
    outputs {text},
    waits_for {text},           -- a child run or an answer, as JSON
    PRIMARY KEY (run_id, name)
) {plain};

CREATE TABLE tickwise_decisions (
    schedule_id bigint NOT NULL,
    first_slot bigint NOT NULL,
    reason {key} NOT NULL,
    last_slot bigint NOT NULL,
    slots bigint NOT NULL,
    detail {text},
    made_at bigint NOT NULL,
    extended_at bigint NOT NULL,
    PRIMARY KEY (schedule_id, first_slot, reason)
) {plain};
CREATE INDEX tickwise_decisions_first ON tickwise_decisions (first_slot);
CREATE INDEX tickwise_decisions_last ON tickwise_decisions (last_slot);
CREATE INDEX tickwise_decisions_extended ON tickwise_decisions (extended_at);

CREATE TABLE tickwise_nodes (
    id {key} PRIMARY KEY,
    facts {text} NOT NULL,
    worker boolean NOT NULL,
    serves {text} NOT NULL,       -- the digest of what it offers, and its queues
    offers {text} NOT NULL,       -- what it may execute; written only when that changes, as it may be long
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    live_until bigint NOT NULL,
    passed_at bigint
) {plain};

CREATE TABLE tickwise_queues (
    name {key} PRIMARY KEY,
    concurrency bigint,
    starts_per_second double precision,
    credit double precision NOT NULL,   -- starts that may be made at once
    credited_at bigint NOT NULL,
    paused_at bigint,                   -- in seconds, as is resumes_at
    paused_by {short},
    pause_reason {short},
    resumes_at bigint
) {plain};

CREATE TABLE tickwise_pauses (  -- of everything; in seconds
    id {id},
    paused_at bigint NOT NULL,
    until bigint,
    paused_by {short} NOT NULL,
    reason {short} NOT NULL,
    resumes_at bigint,          -- of an open one that ends by itself
    is_open boolean GENERATED ALWAYS AS (CASE WHEN until IS NULL THEN TRUE END) {generated}
) {plain};
CREATE UNIQUE INDEX tickwise_pauses_open ON tickwise_pauses (is_open);

DROP TABLE IF EXISTS {logs}tickwise_logs;  -- of a store that was in this place before
CREATE TABLE {logs}tickwise_logs (
    id {id},
    run_id bigint NOT NULL,
    step {key} NOT NULL,
    position bigint NOT NULL,   -- of the first character in all that the step printed
    stream {key} NOT NULL,
    text {text} NOT NULL,
    at bigint NOT NULL
) {plain};
CREATE INDEX {logs}tickwise_logs_run ON tickwise_logs (run_id, id);

CREATE TABLE tickwise_tokens (
    id {key} PRIMARY KEY,
    name {key} NOT NULL,
    role {short} NOT NULL,
    digest {key} NOT NULL UNIQUE,
    scopes {text} NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    used_at bigint,
    live_name {key} GENERATED ALWAYS AS (CASE WHEN revoked_at IS NULL THEN name END) {generated}
) {plain};
CREATE UNIQUE INDEX tickwise_tokens_name ON tickwise_tokens (live_name);

CREATE TABLE tickwise_audit (
    id {id},
    at bigint NOT NULL,
    who {short} NOT NULL,
    action {short} NOT NULL,
    subject {key} NOT NULL,
    detail {text} NOT NULL
) {plain};
CREATE INDEX tickwise_audit_subject ON tickwise_audit (subject, id);

CREATE TABLE tickwise_claims (  -- of idempotency keys: the first claim of a key wins
    claim_key {key} PRIMARY KEY,
    mark {short} NOT NULL,
    answer {text},
    claimed_at bigint NOT NULL,
    until bigint NOT NULL       -- unanswered, the key is free again after this instant
) {plain};
CREATE INDEX tickwise_claims_age ON tickwise_claims (claimed_at);

CREATE TABLE tickwise_texts (  -- few, each written over a known version
    name {key} PRIMARY KEY,
    version bigint NOT NULL,
    body {text} NOT NULL
) {plain};

CREATE TABLE tickwise_calendars (
    name {name} PRIMARY KEY,
    body {text} NOT NULL,
    revision bigint NOT NULL
) {plain};

-- For people. Nothing in the program reads it.
CREATE VIEW tickwise_schedules_now AS
SELECT s.name, j.name AS job,
    s.times, s.timezone,
    CASE WHEN s.paused OR p.id IS NOT NULL THEN NULL ELSE {seconds}s.wake_at{to_time} END AS next_run_at,
    {microseconds}coalesce(r.started_at, r.created_at){to_time} AS last_run_at,
    r.state AS last_state,
    s.paused OR p.id IS NOT NULL AS paused,
    CASE WHEN s.paused THEN s.pause_reason ELSE p.reason END AS reason
FROM tickwise_schedule_state s
JOIN tickwise_jobs j ON j.id = s.job_id
LEFT JOIN tickwise_runs r ON r.schedule_id = s.id AND r.slot = s.last_slot
LEFT JOIN tickwise_pauses p ON p.until IS NULL
WHERE s.deleted IS NULL
{own_tables}
