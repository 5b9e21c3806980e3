-- What tells an intent that recovery starts again and again from one that goes on. The columns
-- have no defaults, so no row is rewritten.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- None of them is a fact about the intent: like due_at, they are recovery's and change without a
-- new version.
ALTER TABLE intents
    -- The version at which recovery took it last, and since when it takes it at that one.
    ADD COLUMN stalled_version bigint,
    ADD COLUMN stalled_since timestamptz,
    -- When it was last said that it makes no progress.
    ADD COLUMN alarmed_at timestamptz;

-- +goose Down
ALTER TABLE intents DROP COLUMN alarmed_at, DROP COLUMN stalled_since, DROP COLUMN stalled_version;
