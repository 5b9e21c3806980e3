-- An index of the enqueued requests, which is built beside the work that goes on: a backlog may be
-- large.

-- +goose NO TRANSACTION

-- +goose Up

-- What a build that was interrupted left behind.
DROP INDEX IF EXISTS enqueued_under_way;

-- The dispatcher asks how much work is under way for a tenant, and for all; it is bounded.
CREATE INDEX CONCURRENTLY enqueued_under_way ON enqueued (tenant) WHERE dispatched_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS enqueued_dispatched;

-- +goose Down
CREATE INDEX IF NOT EXISTS enqueued_dispatched ON enqueued (dispatched_at) WHERE dispatched_at IS NOT NULL;
DROP INDEX IF EXISTS enqueued_under_way;
