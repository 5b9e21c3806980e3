-- The whole protocol: lookups, what operators decide, holds, and effects inside the outbox's
-- own database. Nothing here reads a table that may be large; the next migration checks what
-- stands there.

-- +goose Up

SET LOCAL lock_timeout = '2s';

ALTER TABLE intents
    -- When and why the policy said no although something was sent already.
    ADD COLUMN revoked_at timestamptz,
    -- How many decisions of people there were then.
    ADD COLUMN revoked_after integer NOT NULL DEFAULT 0,
    ADD COLUMN revocation bytea,
    -- Evidence says something that a person has to look at, until one has.
    ADD COLUMN alert text,
    DROP CONSTRAINT intents_class_check,
    ADD CONSTRAINT intents_class_check
        CHECK (class IN ('read', 'transactional', 'keyed', 'reconcilable', 'opaque')) NOT VALID,
    DROP CONSTRAINT intents_state_check,
    ADD CONSTRAINT intents_state_check
        CHECK (state IN ('awaiting_confirmation', 'recorded', 'invoking', 'in_doubt', 'completed', 'failed', 'refused', 'cancelled')) NOT VALID,
    DROP CONSTRAINT intents_check,
    ADD CONSTRAINT intents_ended
        CHECK ((state IN ('completed', 'failed', 'refused', 'cancelled')) = (ended_at IS NOT NULL)) NOT VALID;

ALTER TABLE attempts
    -- The answer was one that the provider had stored for the key.
    ADD COLUMN stored boolean NOT NULL DEFAULT false,
    -- The provider refused because what was asked for is the case already.
    ADD COLUMN already boolean NOT NULL DEFAULT false,
    -- The provider's name of the effect.
    ADD COLUMN effect_id text,
    -- The effect is being made, or was made, in a transaction of this database.
    ADD COLUMN transacted boolean NOT NULL DEFAULT false;

-- Questions to providers. The row is there before the question is asked, so that a lookup
-- that kills its worker is counted.
CREATE TABLE lookups (
    intent_id      uuid NOT NULL REFERENCES intents (id),
    number         integer NOT NULL CHECK (number > 0),
    generation     integer NOT NULL CHECK (generation > 0),
    -- How many attempts there were when it was asked. What it shows is about those; times would
    -- not tell where the clock went back.
    attempts       integer NOT NULL,
    -- Random: an answer finds its question by it.
    token          uuid NOT NULL,
    worker         text NOT NULL,
    asked_at       timestamptz NOT NULL,
    finding        text CHECK (finding IN ('found', 'absent', 'unclear')),
    answered_at    timestamptz,
    code           text NOT NULL DEFAULT '',
    message        text NOT NULL DEFAULT '',
    retry_after_ms bigint NOT NULL DEFAULT 0,
    effect_id      text,
    -- How many effects the provider shows under the key; 0 if it does not say.
    effects        integer NOT NULL DEFAULT 0,
    media_type     text,
    result         bytea,
    result_digest  bytea,
    PRIMARY KEY (intent_id, number),
    FOREIGN KEY (intent_id, result_digest) REFERENCES blobs (intent_id, digest),
    CHECK ((finding IS NULL) = (answered_at IS NULL)),
    CHECK (result IS NULL OR result_digest IS NULL),
    CHECK (result IS NULL AND result_digest IS NULL OR (finding IS NOT DISTINCT FROM 'found' AND media_type IS NOT NULL))
);

ALTER TABLE decisions
    DROP CONSTRAINT decisions_kind_check,
    ADD CONSTRAINT decisions_kind_check CHECK (kind IN ('confirm', 'deny', 'cancel', 'resolve_applied',
        'resolve_not_applied', 'retry', 'inquire', 'reissue', 'acknowledge')) NOT VALID,
    -- The generation that was decided on.
    ADD COLUMN generation integer NOT NULL DEFAULT 1,
    -- How many attempts and lookups there were.
    ADD COLUMN attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN lookups integer NOT NULL DEFAULT 0,
    -- What an operator says that the tool would have answered.
    ADD COLUMN media_type text,
    ADD COLUMN result bytea,
    ADD CONSTRAINT decisions_result
        CHECK (result IS NULL OR (kind = 'resolve_applied' AND media_type IS NOT NULL)) NOT VALID;

-- A stop on a tool, a provider or a tenant: no claim is granted while it stands.
CREATE TABLE holds (
    id        uuid PRIMARY KEY,
    scope     text NOT NULL CHECK (scope IN ('tool', 'provider', 'tenant')),
    name      text NOT NULL,
    -- Whether a circuit breaker set it, and not a person.
    automatic boolean NOT NULL,
    principal text NOT NULL,
    note      text NOT NULL,
    set_at    timestamptz NOT NULL,
    -- Only of an automatic hold: when one claim may try the provider, and how many have.
    probe_at  timestamptz,
    probes    integer NOT NULL DEFAULT 0,
    lifted_at timestamptz,
    lifted_by text,
    lift_note text,
    CHECK (automatic = (probe_at IS NOT NULL)),
    CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);
-- One of each kind stands at a time. Claims look here, so it holds no others.
CREATE UNIQUE INDEX holds_standing ON holds (scope, name, automatic) WHERE lifted_at IS NULL;

-- How many answers of a provider in a row were none.
CREATE TABLE breakers (
    provider text PRIMARY KEY,
    failures integer NOT NULL,
    since    timestamptz NOT NULL
);

-- +goose StatementBegin
-- The advisory lock of a hold's subject in this installation. Claims take it shared, and
-- whoever sets a hold exclusively.
CREATE FUNCTION writ_hold_lock(scope text, name text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT hashtextextended(current_schema() || ' hold ' || $1 || ' ' || $2, 0)
$$;
-- +goose StatementEnd

-- Documents that are kept here, and not with a provider: what documents.purge deletes.
CREATE TABLE documents (
    tenant     text NOT NULL,
    id         text NOT NULL,
    title      text NOT NULL,
    content    bytea NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

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

CREATE FUNCTION writ_guard_lookup() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.finding IS NOT NULL OR (NEW.intent_id, NEW.number, NEW.generation, NEW.attempts, NEW.token, NEW.worker, NEW.asked_at)
       IS DISTINCT FROM (OLD.intent_id, OLD.number, OLD.generation, OLD.attempts, OLD.token, OLD.worker, OLD.asked_at)
    THEN
        RAISE EXCEPTION 'writ: lookup % of intent % cannot change', OLD.number, OLD.intent_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

-- An effect in this database commits with the receipt of its intent, or not at all: whoever
-- commits the transaction of a tool before the engine has ended it finds this at the COMMIT.
CREATE FUNCTION writ_demand_receipt() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sealed boolean;
BEGIN
    -- In the schema of the attempt, wherever the session that commits looks for its tables.
    EXECUTE format('SELECT EXISTS (
        SELECT FROM %1$I.receipts r JOIN %1$I.intents i ON i.id = r.intent_id AND i.generation = r.generation
        WHERE r.intent_id = $1 AND r.number = 0 AND i.state = ''completed'')', TG_TABLE_SCHEMA) INTO sealed USING NEW.intent_id;
    IF NOT sealed THEN
        RAISE EXCEPTION 'writ: the effect of intent % would be committed without its receipt', NEW.intent_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'receipt_demanded';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE CONSTRAINT TRIGGER receipt_demanded AFTER UPDATE ON attempts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.transacted AND NOT OLD.transacted) EXECUTE FUNCTION writ_demand_receipt();
CREATE TRIGGER guard BEFORE UPDATE ON lookups FOR EACH ROW EXECUTE FUNCTION writ_guard_lookup();
CREATE TRIGGER keep BEFORE DELETE ON lookups FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON lookups FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep BEFORE DELETE ON holds FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON holds FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

-- +goose Down
-- What the older schema can hold is kept. An effect of a class that it does not know is never
-- sent again there, and a cancelled intent did nothing.
ALTER TABLE intents DISABLE TRIGGER guard, DROP CONSTRAINT intents_ended;
UPDATE intents SET state = 'failed' WHERE state = 'cancelled';
UPDATE intents SET class = 'opaque', rules = jsonb_set(rules, '{class}', '"opaque"') WHERE class IN ('transactional', 'reconcilable');
ALTER TABLE intents ENABLE TRIGGER guard;
DROP TRIGGER receipt_demanded ON attempts;
ALTER TABLE attempts DROP COLUMN stored, DROP COLUMN already, DROP COLUMN effect_id, DROP COLUMN transacted;
DROP TABLE documents, breakers, lookups, holds;
ALTER TABLE decisions DISABLE TRIGGER keep;
DELETE FROM decisions WHERE kind NOT IN ('confirm', 'deny');
ALTER TABLE decisions ENABLE TRIGGER keep;
ALTER TABLE decisions
    DROP COLUMN generation, DROP COLUMN attempts, DROP COLUMN lookups, DROP COLUMN media_type, DROP COLUMN result,
    DROP CONSTRAINT decisions_kind_check,
    ADD CONSTRAINT decisions_kind_check CHECK (kind IN ('confirm', 'deny'));
ALTER TABLE intents
    DROP COLUMN revoked_at, DROP COLUMN revoked_after, DROP COLUMN revocation, DROP COLUMN alert,
    DROP CONSTRAINT intents_class_check,
    ADD CONSTRAINT intents_class_check CHECK (class IN ('read', 'keyed', 'opaque')),
    DROP CONSTRAINT intents_state_check,
    ADD CONSTRAINT intents_state_check
        CHECK (state IN ('awaiting_confirmation', 'recorded', 'invoking', 'in_doubt', 'completed', 'failed', 'refused')),
    ADD CONSTRAINT intents_check CHECK ((state IN ('completed', 'failed', 'refused')) = (ended_at IS NOT NULL));
DROP FUNCTION writ_hold_lock, writ_guard_lookup, writ_demand_receipt;
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
