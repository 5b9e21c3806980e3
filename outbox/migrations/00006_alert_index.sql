-- An index that is built beside the work that goes on. It holds almost nothing, but PostgreSQL
-- reads the whole table for it.

-- +goose NO TRANSACTION

-- +goose Up

-- What a build that was interrupted left behind.
DROP INDEX IF EXISTS intents_alert_created;

-- Operators look for the few intents that somebody has to look at.
CREATE INDEX CONCURRENTLY intents_alert_created ON intents (created_at, id) WHERE alert IS NOT NULL;

-- +goose Down
DROP INDEX IF EXISTS intents_alert_created;
