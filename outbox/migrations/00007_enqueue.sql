-- Requests that hosts wrote in transactions of their own, until they are intents.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- Nobody has authorized these yet: no claim can be made on one. A row goes in the transaction
-- that makes its intent.
CREATE TABLE enqueued (
    id             uuid PRIMARY KEY,
    tenant         text NOT NULL,
    request_key    text NOT NULL,
    principal      text NOT NULL,
    tool           text NOT NULL,
    payload        bytea NOT NULL,
    effect_context bytea NOT NULL,
    salt           bytea NOT NULL CHECK (length(salt) = 16),
    fingerprint    bytea NOT NULL CHECK (length(fingerprint) = 32),
    traceparent    text NOT NULL,
    created_at     timestamptz NOT NULL,
    not_before     timestamptz,
    -- How often it was handed to Temporal, and what the last time said.
    tries          integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    error_code     text NOT NULL DEFAULT '',
    error          text NOT NULL DEFAULT '',
    -- When a dispatcher took it last. NULL: no work is under way for it.
    dispatched_at  timestamptz,
    -- When it is tried next. NULL: it is parked, and error says why.
    due_at         timestamptz,
    parked_at      timestamptz,
    -- A person dropped it. It stays, so that a workflow that carries its request finds that it
    -- must not run.
    dropped_at     timestamptz,
    -- Who had it tried again or dropped it last, and why.
    decided_at     timestamptz,
    decided_by     text NOT NULL DEFAULT '',
    note           text NOT NULL DEFAULT '',
    UNIQUE (tenant, request_key),
    CHECK ((due_at IS NULL) = (parked_at IS NOT NULL)),
    CHECK (parked_at IS NULL OR error_code <> ''),
    CHECK (dropped_at IS NULL OR parked_at IS NOT NULL)
);

-- The dispatcher asks for each tenant's next rows.
CREATE INDEX enqueued_due ON enqueued (tenant, due_at, id) WHERE due_at IS NOT NULL;

-- The work that is under way is bounded, so these are few.
CREATE INDEX enqueued_dispatched ON enqueued (dispatched_at) WHERE dispatched_at IS NOT NULL;

-- Parked rows are few, and wait for a person.
CREATE INDEX enqueued_parked ON enqueued (parked_at, id) WHERE parked_at IS NOT NULL AND dropped_at IS NULL;

-- +goose Down
DROP TABLE enqueued;
