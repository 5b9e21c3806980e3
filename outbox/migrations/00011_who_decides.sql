-- As what, and for whom, somebody decided. The columns have constant defaults, so no row is
-- rewritten; of older decisions it is not known.

-- +goose Up

SET LOCAL lock_timeout = '2s';

ALTER TABLE decisions
    -- Who vouches for the principal, its roles and its delegation; empty: it was not said.
    ADD COLUMN authentication_source text NOT NULL DEFAULT '',
    ADD COLUMN roles text[] NOT NULL DEFAULT '{}',
    -- For whom the principal acted, the nearest first.
    ADD COLUMN on_behalf_of text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE decisions DROP COLUMN on_behalf_of, DROP COLUMN roles, DROP COLUMN authentication_source;
