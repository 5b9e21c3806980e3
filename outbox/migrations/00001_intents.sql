-- The outbox of intents, their attempts, their receipts, and the tools that workers host.
-- Objects are created in the first schema of the search path, so that several
-- installations (and every test) can live in one database.

-- +goose Up

-- The only clock of the protocol. Tests replace it in their own schema. It moves on
-- within a transaction, because a statement may have waited for a lock.
-- +goose StatementBegin
CREATE FUNCTION writ_now() RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() $$;
-- +goose StatementEnd

CREATE TABLE intents (
    id              uuid PRIMARY KEY,
    tenant          text NOT NULL,
    request_key     text NOT NULL,
    principal       text NOT NULL,
    tool            text NOT NULL,
    task_queue      text NOT NULL,
    class           text NOT NULL CHECK (class IN ('read', 'keyed', 'opaque')),
    state           text NOT NULL
        CHECK (state IN ('recorded', 'invoking', 'in_doubt', 'completed', 'failed', 'refused')),
    -- Every fact about the intent increments version; every step is guarded by it.
    version         bigint NOT NULL CHECK (version > 0),
    generation      integer NOT NULL CHECK (generation > 0),
    idempotency_key text NOT NULL CHECK (length(idempotency_key) = 36),
    -- Canonical JSON is kept as bytea: jsonb reorders, drops duplicates and refuses \u0000.
    payload         bytea NOT NULL,
    effect_context  bytea NOT NULL,
    decision        bytea NOT NULL,
    salt            bytea NOT NULL CHECK (length(salt) = 16),
    fingerprint     bytea NOT NULL CHECK (length(fingerprint) = 32),
    spec_digest     bytea NOT NULL CHECK (length(spec_digest) = 32),
    commitment      bytea NOT NULL CHECK (length(commitment) = 32),
    -- What the protocol needs of the spec that the intent was authorized under.
    rules           jsonb NOT NULL,
    traceparent     text NOT NULL,
    created_at      timestamptz NOT NULL,
    -- The first claim of the current generation: the provider's memory counts from here.
    first_sent_at   timestamptz,
    -- When an intent that made no progress until then is started again by recovery. NULL:
    -- it ended, or it waits for a person.
    due_at          timestamptz,
    ended_at        timestamptz,
    UNIQUE (tenant, request_key),
    CHECK ((state IN ('completed', 'failed', 'refused')) = (ended_at IS NOT NULL))
);

-- Recovery looks for what is overdue; ended intents are not in this index.
CREATE INDEX intents_due ON intents (due_at) WHERE due_at IS NOT NULL;

-- One row for each permission to send. The claim writes it before the first byte leaves;
-- evidence is added later and a definite outcome never changes again.
CREATE TABLE attempts (
    intent_id      uuid NOT NULL REFERENCES intents (id),
    number         integer NOT NULL CHECK (number > 0),
    generation     integer NOT NULL CHECK (generation > 0),
    token          uuid NOT NULL,
    worker         text NOT NULL,
    claimed_at     timestamptz NOT NULL,
    lease_until    timestamptz NOT NULL,
    send_by        timestamptz NOT NULL,
    outcome        text CHECK (outcome IN ('applied', 'not_applied', 'unknown')),
    evidence_at    timestamptz,
    code           text NOT NULL DEFAULT '',
    message        text NOT NULL DEFAULT '',
    final          boolean NOT NULL DEFAULT false,
    in_progress    boolean NOT NULL DEFAULT false,
    retry_after_ms bigint NOT NULL DEFAULT 0,
    media_type     text,
    result         bytea,
    PRIMARY KEY (intent_id, number),
    CHECK ((outcome IS NULL) = (evidence_at IS NULL)),
    CHECK (result IS NULL OR (outcome IS NOT DISTINCT FROM 'applied' AND media_type IS NOT NULL))
);

CREATE TABLE receipts (
    intent_id  uuid NOT NULL REFERENCES intents (id),
    generation integer NOT NULL CHECK (generation > 0),
    -- 0 is the final receipt of the generation.
    number     integer NOT NULL CHECK (number >= 0),
    body       bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (intent_id, generation, number)
);

-- The tools that workers host, one row for each behaviour; the newest row of a name is
-- the one in force.
CREATE TABLE tool_specs (
    name         text NOT NULL,
    digest       bytea NOT NULL CHECK (length(digest) = 32),
    spec         bytea NOT NULL,
    task_queue   text NOT NULL,
    published_at timestamptz NOT NULL,
    PRIMARY KEY (name, digest)
);

-- +goose StatementBegin
CREATE FUNCTION writ_guard_intent() RETURNS trigger
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

CREATE FUNCTION writ_guard_attempt() RETURNS trigger
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

CREATE FUNCTION writ_refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'writ: % of % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
-- +goose StatementEnd

CREATE TRIGGER guard BEFORE UPDATE ON intents FOR EACH ROW EXECUTE FUNCTION writ_guard_intent();
CREATE TRIGGER guard BEFORE UPDATE ON attempts FOR EACH ROW EXECUTE FUNCTION writ_guard_attempt();
CREATE TRIGGER keep BEFORE DELETE ON intents FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep BEFORE DELETE ON attempts FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON receipts FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON intents FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON attempts FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON receipts FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

-- +goose Down
DROP TABLE tool_specs, receipts, attempts, intents;
DROP FUNCTION writ_guard_intent, writ_guard_attempt, writ_refuse_change, writ_now;
