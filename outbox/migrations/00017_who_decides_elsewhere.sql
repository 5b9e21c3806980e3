-- As what, and for whom, somebody decided what is no decision on an intent: a hold, an enqueued
-- request, a history that is trusted. The columns have constant defaults, so no row is rewritten;
-- of what was decided before it is not known.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- Of who set the hold, and of who lifted it.
ALTER TABLE holds
    ADD COLUMN authentication_source text NOT NULL DEFAULT '',
    ADD COLUMN roles text[] NOT NULL DEFAULT '{}',
    ADD COLUMN on_behalf_of text[] NOT NULL DEFAULT '{}',
    ADD COLUMN lift_authentication_source text NOT NULL DEFAULT '',
    ADD COLUMN lift_roles text[] NOT NULL DEFAULT '{}',
    ADD COLUMN lift_on_behalf_of text[] NOT NULL DEFAULT '{}';

-- Of who had it tried again or dropped it last; who asked is in its effect context.
ALTER TABLE enqueued
    ADD COLUMN decider_authentication_source text NOT NULL DEFAULT '',
    ADD COLUMN decider_roles text[] NOT NULL DEFAULT '{}',
    ADD COLUMN decider_on_behalf_of text[] NOT NULL DEFAULT '{}';

ALTER TABLE timelines
    ADD COLUMN authentication_source text NOT NULL DEFAULT '',
    ADD COLUMN roles text[] NOT NULL DEFAULT '{}',
    ADD COLUMN on_behalf_of text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE timelines DROP COLUMN on_behalf_of, DROP COLUMN roles, DROP COLUMN authentication_source;
ALTER TABLE enqueued DROP COLUMN decider_on_behalf_of, DROP COLUMN decider_roles, DROP COLUMN decider_authentication_source;
ALTER TABLE holds
    DROP COLUMN lift_on_behalf_of, DROP COLUMN lift_roles, DROP COLUMN lift_authentication_source,
    DROP COLUMN on_behalf_of, DROP COLUMN roles, DROP COLUMN authentication_source;
