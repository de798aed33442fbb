CREATE UNIQUE INDEX tickwise_tokens_name ON tickwise_tokens (name) WHERE revoked_at IS NULL;
CREATE INDEX tickwise_audit_subject ON tickwise_audit (subject, id);

CREATE TABLE tickwise_claims (  -- first come, first served
    claim_key text PRIMARY KEY,
    mark text NOT NULL,
    answer text,
    claimed_at bigint NOT NULL,
    until bigint NOT NULL       -- unanswered, it is lost to the next after this instant
);
CREATE INDEX tickwise_claims_age ON tickwise_claims (claimed_at);

-- What is new. Runs end about in the order they were made, so a summary of each range of pages is enough.
CREATE INDEX tickwise_runs_finished ON tickwise_runs USING brin (finished_at) WITH (autosummarize = on);
CREATE INDEX tickwise_runs_again ON tickwise_runs (started_at) WHERE state = 'queued' AND started_at IS NOT NULL;
CREATE INDEX tickwise_decisions_extended ON tickwise_decisions (extended_at);
CREATE INDEX tickwise_schedules_updated ON tickwise_schedules (updated_at);
