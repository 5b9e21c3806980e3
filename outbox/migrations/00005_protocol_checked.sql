-- What the protocol's migration left for later, because it reads the tables that are there.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- Checking takes a lock that reads and writes pass.
ALTER TABLE intents
    VALIDATE CONSTRAINT intents_class_check, VALIDATE CONSTRAINT intents_state_check, VALIDATE CONSTRAINT intents_ended;
ALTER TABLE decisions VALIDATE CONSTRAINT decisions_kind_check, VALIDATE CONSTRAINT decisions_result;

-- +goose Down
SELECT 1; -- what was checked stays as it is until the constraints go
