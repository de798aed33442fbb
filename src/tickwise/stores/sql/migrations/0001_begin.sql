-- Seconds: cursor, slot, wake_at and all that is planned. Microseconds: what ends in _at otherwise.

CREATE TABLE tickwise_definitions (  -- what jobs and schedules say, each text once; never changed
    id ID,
    digest text NOT NULL UNIQUE,
    body text NOT NULL
);

CREATE TABLE tickwise_jobs (  -- the unit of claiming
    id ID,
    name NAME NOT NULL UNIQUE,
    source text NOT NULL,
    definition_id bigint NOT NULL,
    version bigint NOT NULL,
    queue text NOT NULL,
    priority bigint NOT NULL,
    function text,              -- a worker must know it by this name; none for pipelines
    lanes bigint NOT NULL,      -- the most that a schedule of the job allows
    guarded boolean NOT NULL,   -- somebody asks for its last success or its last run by hand
    local boolean NOT NULL,     -- nodes tick it from their own index, and no claim finds it
    wake_at bigint,             -- when it must be looked at: the least of its schedules'; none for never
    waiting boolean NOT NULL,   -- a slot waits for a run of the job to end
    pause_seen bigint NOT NULL, -- the last pause of everything whose end has reached its schedules
    last_manual bigint,
    last_success bigint,
    history_from bigint,
    keep_days bigint,
    keep_runs bigint,
    prune_at bigint,            -- when to look for runs that need not be kept; none if all are
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
) FILL;
CREATE INDEX tickwise_jobs_prune ON tickwise_jobs (prune_at) WHERE prune_at IS NOT NULL;
CREATE INDEX tickwise_jobs_due ON tickwise_jobs (wake_at) WHERE wake_at IS NOT NULL AND NOT local;

CREATE TABLE tickwise_versions (  -- of a job's definition
    job_id bigint NOT NULL,
    version bigint NOT NULL,
    definition_id bigint NOT NULL,
    made_at bigint NOT NULL,
    PRIMARY KEY (job_id, version)
);

CREATE TABLE tickwise_needs (  -- which jobs wait for successes of which (after)
    needed_job_id bigint NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (needed_job_id, job_id)
);

CREATE TABLE tickwise_schedules (
    id ID,
    name NAME NOT NULL UNIQUE,
    job_id bigint NOT NULL,
    definition_id bigint NOT NULL,
    cursor bigint NOT NULL,
    met bigint NOT NULL,
    missed bigint NOT NULL,
    edited bigint NOT NULL,
    first_seen bigint NOT NULL,
    runs_made bigint NOT NULL,
    rest text,                  -- pause, move, backfill, deferral and the like; mostly none
    last_slot bigint,           -- the newest slot that has a run
    wake_at bigint,
    paused boolean NOT NULL,
    deleted bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
) FILL;
CREATE INDEX tickwise_schedules_job ON tickwise_schedules (job_id);

CREATE TABLE tickwise_runs (
    id ID,
    job_id bigint NOT NULL,
    schedule_id bigint,
    slot bigint,
    lane bigint,                -- held until the run is over
    run_key text,
    trigger_name text NOT NULL,
    state text NOT NULL,
    definition_id bigint NOT NULL,  -- of the job, as it was then
    times_id bigint,            -- the definition of the schedule, as it was then
    queue text NOT NULL,
    priority bigint NOT NULL,
    function text,
    params text,
    due_at bigint NOT NULL,     -- not before
    expires_at bigint,
    created_at bigint NOT NULL,
    claimed_by text,            -- the ticker that made it
    asked_by text,
    auto_remove boolean NOT NULL,
    node text,
    token text,
    lease_until bigint,
    attempt bigint NOT NULL,
    failures bigint NOT NULL,
    losses bigint NOT NULL,
    cancelling boolean NOT NULL,
    started_at bigint,
    finished_at bigint,
    result text,
    error text
) FILL;
CREATE UNIQUE INDEX tickwise_runs_slot ON tickwise_runs (schedule_id, slot) WHERE slot IS NOT NULL;
CREATE UNIQUE INDEX tickwise_runs_lane ON tickwise_runs (job_id, lane) WHERE lane IS NOT NULL;
CREATE UNIQUE INDEX tickwise_runs_key ON tickwise_runs (job_id, run_key)
    WHERE run_key IS NOT NULL AND state IN ('queued', 'running', 'succeeded');
CREATE INDEX tickwise_runs_queue ON tickwise_runs (queue, priority DESC, due_at, id) WHERE state = 'queued';
CREATE INDEX tickwise_runs_lease ON tickwise_runs (lease_until) WHERE state = 'running';
CREATE INDEX tickwise_runs_expiry ON tickwise_runs (expires_at) WHERE state = 'queued' AND expires_at IS NOT NULL;
CREATE INDEX tickwise_runs_job ON tickwise_runs (job_id, id);

CREATE TABLE tickwise_attempts (  -- those before the last
    run_id bigint NOT NULL,
    number bigint NOT NULL,
    event text NOT NULL,
    started_at bigint,
    finished_at bigint NOT NULL,
    node text,
    error text,
    PRIMARY KEY (run_id, number)
);

CREATE TABLE tickwise_steps (
    run_id bigint NOT NULL,
    name text NOT NULL,
    place bigint NOT NULL,
    state text NOT NULL,
    started_at bigint,
    finished_at bigint,
    attempt bigint NOT NULL,
    error text,
    PRIMARY KEY (run_id, name)
);

CREATE TABLE tickwise_decisions (
    schedule_id bigint NOT NULL,
    first_slot bigint NOT NULL,
    reason text NOT NULL,
    last_slot bigint NOT NULL,
    slots bigint NOT NULL,
    detail text,
    made_at bigint NOT NULL,
    extended_at bigint NOT NULL,
    PRIMARY KEY (schedule_id, first_slot, reason)
);
CREATE INDEX tickwise_decisions_first ON tickwise_decisions (first_slot);
CREATE INDEX tickwise_decisions_last ON tickwise_decisions (last_slot);

CREATE TABLE tickwise_nodes (
    id text PRIMARY KEY,
    facts text NOT NULL,
    worker boolean NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    live_until bigint NOT NULL,
    passed_at bigint
);

CREATE TABLE tickwise_queues (
    name text PRIMARY KEY,
    concurrency bigint,
    starts_per_second double precision,
    credit double precision NOT NULL,   -- starts that may be made at once
    credited_at bigint NOT NULL
);

CREATE TABLE tickwise_pauses (  -- of everything
    id ID,
    paused_at bigint NOT NULL,
    until bigint,
    by_whom text NOT NULL,
    reason text NOT NULL
);
CREATE UNIQUE INDEX tickwise_pauses_open ON tickwise_pauses ((until IS NULL)) WHERE until IS NULL;

DROP TABLE IF EXISTS LOGS.tickwise_logs;  -- of another store, that was here before
CREATE TABLE LOGS.tickwise_logs (
    id ID,
    run_id bigint NOT NULL,
    step text NOT NULL,
    position bigint NOT NULL,   -- of the first character in all that the step printed
    stream text NOT NULL,
    text text NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX LOGS.tickwise_logs_run ON tickwise_logs (run_id, id);

CREATE TABLE tickwise_tokens (
    id text PRIMARY KEY,
    name text NOT NULL,
    role text NOT NULL,
    digest text NOT NULL UNIQUE,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    used_at bigint
);

CREATE TABLE tickwise_audit (
    id ID,
    at bigint NOT NULL,
    who text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL
);
