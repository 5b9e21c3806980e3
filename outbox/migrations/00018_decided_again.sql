-- A refused intent that was never sent is decided on again when the same request comes again: the
-- guards let it into a new generation.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- Whether commits may have been lost before the history was trusted. What was refused earlier may
-- have been decided on again, and sent, in them. The default is a constant, so no row is rewritten.
ALTER TABLE timelines ADD COLUMN lost boolean NOT NULL DEFAULT true;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_intent() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    -- The same request came again after it was refused, and is decided on anew.
    again constant boolean NOT NULL := OLD.state = 'refused' AND NEW.generation <> OLD.generation;
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
        OR (OLD.state IN ('invoking', 'in_doubt', 'failed') AND NEW.state = 'recorded' AND NEW.generation > OLD.generation)
        OR (again AND NEW.state IN ('recorded', 'awaiting_confirmation')))
    THEN
        RAISE EXCEPTION 'writ: intent % cannot move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- What was refused keeps its key, because nothing was sent under it. It stays refused if somebody
    -- said no or stopped it, or if anything may have been sent. It waits for people if and only if the
    -- new decision says so, and not until a time that the old one said.
    IF again AND (NEW.generation <> OLD.generation + 1 OR NEW.idempotency_key <> OLD.idempotency_key
        OR NEW.first_sent_at IS NOT NULL OR NEW.commitment = OLD.commitment
        OR NEW.state NOT IN ('recorded', 'awaiting_confirmation', 'refused')
        OR (NEW.state = 'awaiting_confirmation') <> (NEW.confirm_by IS NOT NULL)
        OR EXISTS (SELECT FROM attempts WHERE intent_id = OLD.id)
        OR EXISTS (SELECT FROM decisions WHERE intent_id = OLD.id AND kind IN ('deny', 'cancel')))
    THEN
        RAISE EXCEPTION 'writ: the refusal of intent % stands', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A new generation has a new key, that nothing was sent under, and follows one of which no
    -- attempt is known to have had its effect.
    IF NEW.generation <> OLD.generation AND NOT again AND (NEW.generation <> OLD.generation + 1 OR NEW.state <> 'recorded'
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
    IF (NEW.id, NEW.tenant, NEW.request_key, NEW.principal, NEW.tool, NEW.payload, NEW.payload_digest,
        NEW.effect_context, NEW.salt, NEW.fingerprint, NEW.traceparent, NEW.created_at)
       IS DISTINCT FROM
       (OLD.id, OLD.tenant, OLD.request_key, OLD.principal, OLD.tool, OLD.payload, OLD.payload_digest,
        OLD.effect_context, OLD.salt, OLD.fingerprint, OLD.traceparent, OLD.created_at)
       OR NEW.generation < OLD.generation
       OR (NEW.generation = OLD.generation AND (NEW.idempotency_key <> OLD.idempotency_key
           OR (OLD.first_sent_at IS NOT NULL AND NEW.first_sent_at IS DISTINCT FROM OLD.first_sent_at)))
       -- A new decision is made on the tool as it is then, and where it is hosted then.
       OR NOT again AND (NEW.class, NEW.spec_digest, NEW.rules, NEW.task_queue, NEW.suspected_duplicate_of, NEW.confirm_by, NEW.approvers)
       IS DISTINCT FROM
       (OLD.class, OLD.spec_digest, OLD.rules, OLD.task_queue, OLD.suspected_duplicate_of, OLD.confirm_by, OLD.approvers)
    THEN
        RAISE EXCEPTION 'writ: the identity of intent % cannot change', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_quorum() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    confirmed integer;
BEGIN
    IF NEW.approvers <> OLD.approvers AND NOT (OLD.state = 'refused' AND NEW.generation <> OLD.generation) THEN
        RAISE EXCEPTION 'writ: how many people must confirm intent % cannot change', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'awaiting_confirmation' AND NEW.state = 'recorded' THEN
        -- Each person once, for exactly what is on the row, and in time.
        SELECT count(DISTINCT principal) INTO confirmed FROM decisions
        WHERE intent_id = OLD.id AND kind = 'confirm' AND commitment = OLD.commitment AND decided_at < OLD.confirm_by;
        IF confirmed < OLD.approvers OR NEW.commitment <> OLD.commitment THEN
            RAISE EXCEPTION 'writ: % of % people have confirmed intent %', confirmed, OLD.approvers, OLD.id
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE timelines DROP COLUMN lost;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_quorum() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    confirmed integer;
BEGIN
    IF NEW.approvers <> OLD.approvers THEN
        RAISE EXCEPTION 'writ: how many people must confirm intent % cannot change', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'awaiting_confirmation' AND NEW.state = 'recorded' THEN
        -- Each person once, for exactly what is on the row, and in time.
        SELECT count(DISTINCT principal) INTO confirmed FROM decisions
        WHERE intent_id = OLD.id AND kind = 'confirm' AND commitment = OLD.commitment AND decided_at < OLD.confirm_by;
        IF confirmed < OLD.approvers OR NEW.commitment <> OLD.commitment THEN
            RAISE EXCEPTION 'writ: % of % people have confirmed intent %', confirmed, OLD.approvers, OLD.id
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
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
