-- A database that lost commits: the guard that stops claims, and what stands for lost claims.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- An attempt that nobody claimed as far as is known: it stands for those that lost commits may
-- have granted.
ALTER TABLE attempts ADD COLUMN presumed boolean NOT NULL DEFAULT false;

-- The histories of PostgreSQL that the outbox was trusted in; the last row is the one in force. No
-- claim is granted under another one, because a standby that was promoted and a backup that was
-- restored may lack claims that were granted. A restored database holds the row of its backup.
CREATE TABLE timelines (
    number            integer PRIMARY KEY CHECK (number > 0),
    -- Of the cluster; another one holds a copy, such as one from pg_dump.
    system_identifier bigint NOT NULL,
    -- 0: none is trusted, because an operator is at work on what may be lost.
    timeline          integer NOT NULL CHECK (timeline >= 0),
    principal         text NOT NULL,
    note              text NOT NULL,
    decided_at        timestamptz NOT NULL,
    -- How many intents were marked as possibly sent, since the outbox was trusted last.
    marked            integer NOT NULL CHECK (marked >= 0)
);

INSERT INTO timelines (number, system_identifier, timeline, principal, note, decided_at, marked)
SELECT 1, system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer, 'writ', 'where it was created', writ_now(), 0
FROM pg_control_system();

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON timelines FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON timelines FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_attempt() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.intent_id, NEW.number, NEW.generation, NEW.token, NEW.worker, NEW.claimed_at, NEW.lease_until, NEW.send_by, NEW.presumed)
       IS DISTINCT FROM
       (OLD.intent_id, OLD.number, OLD.generation, OLD.token, OLD.worker, OLD.claimed_at, OLD.lease_until, OLD.send_by, OLD.presumed)
    THEN
        RAISE EXCEPTION 'writ: the claim of attempt % of intent % cannot change', OLD.number, OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.outcome IN ('applied', 'not_applied')
       OR OLD.outcome = 'unknown' AND NEW.outcome IS DISTINCT FROM 'applied' AND NEW.outcome IS DISTINCT FROM 'not_applied'
    THEN
        RAISE EXCEPTION 'writ: the evidence of attempt % of intent % gives way only from unknown to a definite outcome',
            OLD.number, OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_intent() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- Only due_at, which recovery moves, changes without a new version: it is no fact.
    IF NEW.version < OLD.version OR (NEW.version = OLD.version AND
       (NEW.state, NEW.generation, NEW.first_sent_at, NEW.ended_at, NEW.decision, NEW.commitment, NEW.revoked_at, NEW.revocation, NEW.alert)
       IS DISTINCT FROM
       (OLD.state, OLD.generation, OLD.first_sent_at, OLD.ended_at, OLD.decision, OLD.commitment, OLD.revoked_at, OLD.revocation, OLD.alert))
    THEN
        RAISE EXCEPTION 'writ: intent % changed without a new version', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state IS DISTINCT FROM OLD.state AND NOT (
           (OLD.state = 'awaiting_confirmation' AND NEW.state IN ('recorded', 'refused', 'cancelled', 'in_doubt'))
        OR (OLD.state = 'recorded' AND NEW.state IN ('invoking', 'refused', 'cancelled'))
        OR (OLD.state = 'recorded' AND NEW.state IN ('completed', 'failed', 'in_doubt')
            AND (NEW.generation > 1 OR EXISTS (SELECT FROM attempts WHERE intent_id = OLD.id)))
        OR (OLD.state = 'invoking' AND NEW.state IN ('completed', 'failed', 'cancelled', 'in_doubt'))
        OR (OLD.state = 'in_doubt' AND NEW.state IN ('invoking', 'completed', 'failed', 'cancelled'))
        OR (OLD.state IN ('invoking', 'in_doubt', 'failed') AND NEW.state = 'recorded' AND NEW.generation > OLD.generation))
    THEN
        RAISE EXCEPTION 'writ: intent % cannot move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A new generation has a new key, that nothing was sent under, and follows one of which no
    -- attempt is known to have had its effect.
    IF NEW.generation <> OLD.generation AND (NEW.generation <> OLD.generation + 1 OR NEW.state <> 'recorded'
        OR NEW.first_sent_at IS NOT NULL OR NEW.idempotency_key = OLD.idempotency_key
        OR EXISTS (SELECT FROM attempts WHERE intent_id = OLD.id AND outcome = 'applied')
        OR EXISTS (SELECT FROM lookups WHERE intent_id = OLD.id AND finding = 'found'))
    THEN
        RAISE EXCEPTION 'writ: generation % of intent % cannot begin', NEW.generation, OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- What waits for a person goes on only if one has confirmed exactly what is on the row.
    IF OLD.state = 'awaiting_confirmation' AND NEW.state = 'recorded' AND NOT EXISTS (
        SELECT FROM decisions WHERE intent_id = OLD.id AND kind = 'confirm' AND commitment = OLD.commitment)
    THEN
        RAISE EXCEPTION 'writ: nobody has confirmed intent %', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A key and its first use stand for as long as their generation does.
    IF (NEW.id, NEW.tenant, NEW.request_key, NEW.principal, NEW.tool, NEW.class, NEW.payload, NEW.payload_digest,
        NEW.effect_context, NEW.salt, NEW.fingerprint, NEW.spec_digest, NEW.rules, NEW.traceparent, NEW.task_queue,
        NEW.created_at, NEW.suspected_duplicate_of, NEW.confirm_by)
       IS DISTINCT FROM
       (OLD.id, OLD.tenant, OLD.request_key, OLD.principal, OLD.tool, OLD.class, OLD.payload, OLD.payload_digest,
        OLD.effect_context, OLD.salt, OLD.fingerprint, OLD.spec_digest, OLD.rules, OLD.traceparent, OLD.task_queue,
        OLD.created_at, OLD.suspected_duplicate_of, OLD.confirm_by)
       OR NEW.generation < OLD.generation
       OR (NEW.generation = OLD.generation AND (NEW.idempotency_key <> OLD.idempotency_key
           OR (OLD.first_sent_at IS NOT NULL AND NEW.first_sent_at IS DISTINCT FROM OLD.first_sent_at)))
    THEN
        RAISE EXCEPTION 'writ: the identity of intent % cannot change', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose Down
-- What was presumed stays an open attempt.
DROP TABLE timelines;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_attempt() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.intent_id, NEW.number, NEW.generation, NEW.token, NEW.worker, NEW.claimed_at, NEW.lease_until, NEW.send_by)
       IS DISTINCT FROM
       (OLD.intent_id, OLD.number, OLD.generation, OLD.token, OLD.worker, OLD.claimed_at, OLD.lease_until, OLD.send_by)
    THEN
        RAISE EXCEPTION 'writ: the claim of attempt % of intent % cannot change', OLD.number, OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.outcome IN ('applied', 'not_applied')
       OR OLD.outcome = 'unknown' AND NEW.outcome IS DISTINCT FROM 'applied' AND NEW.outcome IS DISTINCT FROM 'not_applied'
    THEN
        RAISE EXCEPTION 'writ: the evidence of attempt % of intent % gives way only from unknown to a definite outcome',
            OLD.number, OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_intent() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- Only due_at, which recovery moves, changes without a new version: it is no fact.
    IF NEW.version < OLD.version OR (NEW.version = OLD.version AND
       (NEW.state, NEW.generation, NEW.first_sent_at, NEW.ended_at, NEW.decision, NEW.commitment, NEW.revoked_at, NEW.revocation, NEW.alert)
       IS DISTINCT FROM
       (OLD.state, OLD.generation, OLD.first_sent_at, OLD.ended_at, OLD.decision, OLD.commitment, OLD.revoked_at, OLD.revocation, OLD.alert))
    THEN
        RAISE EXCEPTION 'writ: intent % changed without a new version', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state IS DISTINCT FROM OLD.state AND NOT (
           (OLD.state = 'awaiting_confirmation' AND NEW.state IN ('recorded', 'refused', 'cancelled'))
        OR (OLD.state = 'recorded' AND NEW.state IN ('invoking', 'refused', 'cancelled'))
        OR (OLD.state = 'recorded' AND NEW.state IN ('completed', 'failed', 'in_doubt') AND NEW.generation > 1)
        OR (OLD.state = 'invoking' AND NEW.state IN ('completed', 'failed', 'cancelled', 'in_doubt'))
        OR (OLD.state = 'in_doubt' AND NEW.state IN ('invoking', 'completed', 'failed', 'cancelled'))
        OR (OLD.state IN ('invoking', 'in_doubt', 'failed') AND NEW.state = 'recorded' AND NEW.generation > OLD.generation))
    THEN
        RAISE EXCEPTION 'writ: intent % cannot move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A new generation has a new key, that nothing was sent under, and follows one of which no
    -- attempt is known to have had its effect.
    IF NEW.generation <> OLD.generation AND (NEW.generation <> OLD.generation + 1 OR NEW.state <> 'recorded'
        OR NEW.first_sent_at IS NOT NULL OR NEW.idempotency_key = OLD.idempotency_key
        OR EXISTS (SELECT FROM attempts WHERE intent_id = OLD.id AND outcome = 'applied')
        OR EXISTS (SELECT FROM lookups WHERE intent_id = OLD.id AND finding = 'found'))
    THEN
        RAISE EXCEPTION 'writ: generation % of intent % cannot begin', NEW.generation, OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- What waits for a person goes on only if one has confirmed exactly what is on the row.
    IF OLD.state = 'awaiting_confirmation' AND NEW.state = 'recorded' AND NOT EXISTS (
        SELECT FROM decisions WHERE intent_id = OLD.id AND kind = 'confirm' AND commitment = OLD.commitment)
    THEN
        RAISE EXCEPTION 'writ: nobody has confirmed intent %', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A key and its first use stand for as long as their generation does.
    IF (NEW.id, NEW.tenant, NEW.request_key, NEW.principal, NEW.tool, NEW.class, NEW.payload, NEW.payload_digest,
        NEW.effect_context, NEW.salt, NEW.fingerprint, NEW.spec_digest, NEW.rules, NEW.traceparent, NEW.task_queue,
        NEW.created_at, NEW.suspected_duplicate_of, NEW.confirm_by)
       IS DISTINCT FROM
       (OLD.id, OLD.tenant, OLD.request_key, OLD.principal, OLD.tool, OLD.class, OLD.payload, OLD.payload_digest,
        OLD.effect_context, OLD.salt, OLD.fingerprint, OLD.spec_digest, OLD.rules, OLD.traceparent, OLD.task_queue,
        OLD.created_at, OLD.suspected_duplicate_of, OLD.confirm_by)
       OR NEW.generation < OLD.generation
       OR (NEW.generation = OLD.generation AND (NEW.idempotency_key <> OLD.idempotency_key
           OR (OLD.first_sent_at IS NOT NULL AND NEW.first_sent_at IS DISTINCT FROM OLD.first_sent_at)))
    THEN
        RAISE EXCEPTION 'writ: the identity of intent % cannot change', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
ALTER TABLE attempts DROP COLUMN presumed;
