-- What every pass moves is a narrow row of its own: to lock it, to read it and to move it costs little then. Whoever
-- changes a job locks this row.
CREATE TABLE tickwise_agenda (
    job_id bigint PRIMARY KEY,
    revision bigint NOT NULL,   -- grows when anything but this row is written about the job or its schedules
    wake_at bigint,             -- when the job must be looked at: the least of its schedules'; none for never
    local boolean NOT NULL,     -- nodes tick it from their own index, and no claim finds it
    guarded boolean NOT NULL,   -- somebody asks for its last success or its last run by hand
    waiting boolean NOT NULL,   -- a slot waits for a run of the job to end
    pause_seen bigint NOT NULL, -- the last pause of everything whose end has reached its schedules
    last_manual bigint,
    last_success bigint,
    cursor bigint,              -- how far its only schedule has come since that was written itself; else none
    met bigint,
    last_slot bigint,
    made bigint                 -- runs since then
) FILL;
INSERT INTO tickwise_agenda
SELECT id, 1, wake_at, local, guarded, waiting, pause_seen, last_manual, last_success, NULL, NULL, NULL, NULL
FROM tickwise_jobs;
DROP INDEX tickwise_jobs_due;
CREATE INDEX tickwise_agenda_heeds ON tickwise_agenda (job_id) WHERE waiting OR guarded;
CREATE INDEX tickwise_agenda_due ON tickwise_agenda (wake_at) WHERE wake_at IS NOT NULL AND NOT local;
ALTER TABLE tickwise_jobs DROP COLUMN wake_at;
ALTER TABLE tickwise_jobs DROP COLUMN local;
ALTER TABLE tickwise_jobs DROP COLUMN guarded;
ALTER TABLE tickwise_jobs DROP COLUMN waiting;
ALTER TABLE tickwise_jobs DROP COLUMN pause_seen;
ALTER TABLE tickwise_jobs DROP COLUMN last_manual;
ALTER TABLE tickwise_jobs DROP COLUMN last_success;

-- What is under way is a narrow row too. So nothing that changes when a run ends is in an index of all runs, and its
-- end is written beside its beginning.
CREATE TABLE tickwise_live (  -- runs that hold a lane of their job, and all that run
    job_id bigint NOT NULL,
    lane bigint NOT NULL,       -- of a run that holds none: its id, below zero
    run_id bigint NOT NULL,
    running boolean NOT NULL,
    PRIMARY KEY (job_id, lane)
) FILL;
INSERT INTO tickwise_live
SELECT job_id, coalesce(lane, -id), id, state = 'running' FROM tickwise_runs
WHERE lane IS NOT NULL OR state = 'running';
CREATE INDEX tickwise_live_running ON tickwise_live (run_id) WHERE running;
DROP INDEX tickwise_runs_lane;
DROP INDEX tickwise_runs_key;
DROP INDEX tickwise_runs_queue;
DROP INDEX tickwise_runs_lease;
DROP INDEX tickwise_runs_expiry;
DROP INDEX tickwise_runs_again;
ALTER TABLE tickwise_runs ADD COLUMN queued boolean GENERATED ALWAYS AS (state = 'queued') KEPT;
ALTER TABLE tickwise_runs ADD COLUMN keyed boolean
    GENERATED ALWAYS AS (run_key IS NOT NULL AND state IN ('queued', 'running', 'succeeded')) KEPT;
CREATE UNIQUE INDEX tickwise_runs_key ON tickwise_runs (job_id, run_key) WHERE keyed;
CREATE INDEX tickwise_runs_queue ON tickwise_runs (queue, priority DESC, due_at, id) WHERE queued;
CREATE INDEX tickwise_runs_expiry ON tickwise_runs (expires_at) WHERE queued AND expires_at IS NOT NULL;
CREATE INDEX tickwise_runs_again ON tickwise_runs (started_at) WHERE queued AND started_at IS NOT NULL;
ALTER TABLE tickwise_runs ROOM TO END;
