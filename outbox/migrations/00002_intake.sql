-- Large content, the duplicate guard, and intents that wait for a person before they are sent.
-- Nothing here reads a table that may be large; the next migration checks what stands there.

-- +goose Up

-- Everybody who comes after a statement that waits for a table waits behind it. This one gives
-- up soon, and is tried again.
SET LOCAL lock_timeout = '2s';

-- A payload or a result of over 64 KiB, once. A payload is here before its intent has a row,
-- because Temporal's history carries only a reference to it.
CREATE TABLE blobs (
    intent_id  uuid NOT NULL,
    -- Salted, because the digest stands in histories and content can be guessed.
    digest     bytea NOT NULL CHECK (length(digest) = 32),
    salt       bytea NOT NULL CHECK (length(salt) = 16),
    -- The size and the digest are those of the whole content; body may be only its beginning.
    size       bigint NOT NULL,
    body       bytea NOT NULL CHECK (length(body) <= size),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (intent_id, digest)
);
-- Compressing megabytes costs time at the claim and at the journal, and saves little.
ALTER TABLE blobs ALTER COLUMN body SET STORAGE EXTERNAL;

-- The blobs that no row refers to yet. Recovery drops those that were abandoned.
CREATE TABLE staged_payloads (
    intent_id uuid NOT NULL,
    digest    bytea NOT NULL,
    staged_at timestamptz NOT NULL,
    PRIMARY KEY (intent_id, digest),
    FOREIGN KEY (intent_id, digest) REFERENCES blobs (intent_id, digest) ON DELETE CASCADE
);
CREATE INDEX staged_payloads_age ON staged_payloads (staged_at);

ALTER TABLE intents
    ALTER COLUMN payload DROP NOT NULL,
    ADD COLUMN payload_digest bytea,
    ADD COLUMN suspected_duplicate_of uuid,
    -- By when a person must have confirmed.
    ADD COLUMN confirm_by timestamptz,
    ADD CONSTRAINT intents_payload_once CHECK ((payload IS NULL) <> (payload_digest IS NULL)) NOT VALID,
    ADD CONSTRAINT intents_payload_blob FOREIGN KEY (id, payload_digest) REFERENCES blobs (intent_id, digest) NOT VALID,
    DROP CONSTRAINT intents_state_check,
    ADD CONSTRAINT intents_state_check
        CHECK (state IN ('awaiting_confirmation', 'recorded', 'invoking', 'in_doubt', 'completed', 'failed', 'refused')) NOT VALID,
    ADD CONSTRAINT intents_confirm_by CHECK (state <> 'awaiting_confirmation' OR confirm_by IS NOT NULL) NOT VALID;

ALTER TABLE attempts
    ADD COLUMN result_digest bytea,
    ADD CONSTRAINT attempts_result_blob FOREIGN KEY (intent_id, result_digest) REFERENCES blobs (intent_id, digest) NOT VALID,
    ADD CONSTRAINT attempts_result_once CHECK (result IS NULL OR result_digest IS NULL) NOT VALID,
    ADD CONSTRAINT attempts_result_applied
        CHECK (result_digest IS NULL OR (outcome IS NOT DISTINCT FROM 'applied' AND media_type IS NOT NULL)) NOT VALID;

-- What people decided.
CREATE TABLE decisions (
    intent_id  uuid NOT NULL REFERENCES intents (id),
    number     integer NOT NULL CHECK (number > 0),
    kind       text NOT NULL CHECK (kind IN ('confirm', 'deny')),
    principal  text NOT NULL,
    note       text NOT NULL,
    -- What was decided on.
    commitment bytea NOT NULL CHECK (length(commitment) = 32),
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (intent_id, number)
);

-- Equality of actions across intents is seen through an HMAC under a key of the tenant, and
-- only for as long as the guard's window lasts: then recovery deletes the row, and the key
-- when no row that was made under it can be left.
CREATE TABLE guard_keys (
    tenant     text NOT NULL,
    -- The day, counted from 1970 in UTC, in which the key is used for new rows.
    day        integer NOT NULL,
    key        bytea NOT NULL CHECK (length(key) = 32),
    -- The end of the day and the longest window that was used in it: later than the end of
    -- every row of the key, and written once a day, not with each of them.
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, day)
);
CREATE INDEX guard_keys_expire ON guard_keys (expires_at);

CREATE TABLE duplicate_guards (
    digest     bytea NOT NULL CHECK (length(digest) = 32),
    intent_id  uuid NOT NULL REFERENCES intents (id),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (digest, intent_id)
);
CREATE INDEX duplicate_guards_expire ON duplicate_guards (expires_at);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_intent() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- Only due_at, which recovery moves, changes without a new version: it is no fact.
    IF NEW.version < OLD.version OR (NEW.version = OLD.version AND
       (NEW.state, NEW.generation, NEW.first_sent_at, NEW.ended_at, NEW.decision, NEW.commitment)
       IS DISTINCT FROM
       (OLD.state, OLD.generation, OLD.first_sent_at, OLD.ended_at, OLD.decision, OLD.commitment))
    THEN
        RAISE EXCEPTION 'writ: intent % changed without a new version', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state IS DISTINCT FROM OLD.state AND NOT (
           (OLD.state = 'awaiting_confirmation' AND NEW.state IN ('recorded', 'refused'))
        OR (OLD.state = 'recorded' AND NEW.state IN ('invoking', 'refused'))
        OR (OLD.state = 'invoking' AND NEW.state IN ('completed', 'failed', 'in_doubt'))
        OR (OLD.state = 'in_doubt' AND NEW.state IN ('invoking', 'completed', 'failed')))
    THEN
        RAISE EXCEPTION 'writ: intent % cannot move from % to %', OLD.id, OLD.state, NEW.state
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

CREATE TRIGGER keep BEFORE UPDATE ON blobs FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON blobs FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON decisions FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON decisions FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

-- +goose Down
-- What the older schema can hold is kept; what waits for a person has no place in it.
ALTER TABLE intents DISABLE TRIGGER guard, DROP CONSTRAINT intents_payload_once;
ALTER TABLE attempts DISABLE TRIGGER guard, DROP CONSTRAINT attempts_result_once;
UPDATE intents i SET payload = b.body FROM blobs b WHERE b.intent_id = i.id AND b.digest = i.payload_digest;
UPDATE attempts a SET result = b.body FROM blobs b WHERE b.intent_id = a.intent_id AND b.digest = a.result_digest;
UPDATE intents SET state = 'refused', ended_at = writ_now() WHERE state = 'awaiting_confirmation';
ALTER TABLE intents ENABLE TRIGGER guard;
ALTER TABLE attempts ENABLE TRIGGER guard;
DROP TABLE duplicate_guards, guard_keys, decisions;
ALTER TABLE attempts DROP COLUMN result_digest;
ALTER TABLE intents
    DROP COLUMN payload_digest, DROP COLUMN suspected_duplicate_of, DROP COLUMN confirm_by,
    ALTER COLUMN payload SET NOT NULL,
    DROP CONSTRAINT intents_state_check,
    ADD CONSTRAINT intents_state_check
        CHECK (state IN ('recorded', 'invoking', 'in_doubt', 'completed', 'failed', 'refused'));
DROP TABLE staged_payloads, blobs;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION writ_guard_intent() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- Only due_at, which recovery moves, changes without a new version: it is no fact.
    IF NEW.version < OLD.version OR (NEW.version = OLD.version AND
       (NEW.state, NEW.generation, NEW.first_sent_at, NEW.ended_at, NEW.decision, NEW.commitment)
       IS DISTINCT FROM
       (OLD.state, OLD.generation, OLD.first_sent_at, OLD.ended_at, OLD.decision, OLD.commitment))
    THEN
        RAISE EXCEPTION 'writ: intent % changed without a new version', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state IS DISTINCT FROM OLD.state AND NOT (
           (OLD.state = 'recorded' AND NEW.state IN ('invoking', 'refused'))
        OR (OLD.state = 'invoking' AND NEW.state IN ('completed', 'failed', 'in_doubt'))
        OR (OLD.state = 'in_doubt' AND NEW.state IN ('invoking', 'completed', 'failed')))
    THEN
        RAISE EXCEPTION 'writ: intent % cannot move from % to %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A key and its first use stand for as long as their generation does.
    IF (NEW.id, NEW.tenant, NEW.request_key, NEW.principal, NEW.tool, NEW.class, NEW.payload, NEW.effect_context,
        NEW.salt, NEW.fingerprint, NEW.spec_digest, NEW.rules, NEW.traceparent, NEW.task_queue, NEW.created_at)
       IS DISTINCT FROM
       (OLD.id, OLD.tenant, OLD.request_key, OLD.principal, OLD.tool, OLD.class, OLD.payload, OLD.effect_context,
        OLD.salt, OLD.fingerprint, OLD.spec_digest, OLD.rules, OLD.traceparent, OLD.task_queue, OLD.created_at)
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
