-- What the intake migration left for later, because it reads the tables that are there.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- Checking takes a lock that reads and writes pass.
ALTER TABLE intents
    VALIDATE CONSTRAINT intents_payload_once, VALIDATE CONSTRAINT intents_payload_blob,
    VALIDATE CONSTRAINT intents_state_check, VALIDATE CONSTRAINT intents_confirm_by;
ALTER TABLE attempts
    VALIDATE CONSTRAINT attempts_result_blob, VALIDATE CONSTRAINT attempts_result_once,
    VALIDATE CONSTRAINT attempts_result_applied;

-- While these are built, new intents wait and reads go on.

-- Lists page through these orders: all intents, and those of one tenant.
CREATE INDEX intents_created ON intents (created_at, id);
CREATE INDEX intents_tenant_created ON intents (tenant, created_at, id);
-- Operators look for the few that are open, or that seem to repeat another, among the many
-- that ended. These hold no others.
CREATE INDEX intents_open_created ON intents (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX intents_suspected_created ON intents (created_at, id) WHERE suspected_duplicate_of IS NOT NULL;

-- +goose Down
DROP INDEX intents_created, intents_tenant_created, intents_open_created, intents_suspected_created;
