-- What Writ's own gates ask: who consented to what, and which data may go to which provider. Both
-- tables only grow, and of each line the last row is in force.

-- +goose Up

SET LOCAL lock_timeout = '2s';

CREATE TABLE consents (
    tenant  text NOT NULL,
    -- Whom it concerns, and for what.
    person  text NOT NULL,
    purpose text NOT NULL,
    number  integer NOT NULL CHECK (number > 0),
    -- false: it was revoked.
    granted boolean NOT NULL,
    -- Who said so, and why.
    principal             text NOT NULL,
    authentication_source text NOT NULL,
    roles                 text[] NOT NULL,
    on_behalf_of          text[] NOT NULL,
    note                  text NOT NULL,
    changed_at            timestamptz NOT NULL,
    PRIMARY KEY (tenant, person, purpose, number)
);

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON consents FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON consents FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

CREATE TABLE egress_rules (
    provider   text NOT NULL,
    data_class text NOT NULL,
    -- Empty: of every tenant that has no rule of its own.
    tenant     text NOT NULL,
    number     integer NOT NULL CHECK (number > 0),
    -- NULL: the rule was taken back.
    allowed    boolean,
    principal             text NOT NULL,
    authentication_source text NOT NULL,
    roles                 text[] NOT NULL,
    on_behalf_of          text[] NOT NULL,
    note                  text NOT NULL,
    changed_at            timestamptz NOT NULL,
    PRIMARY KEY (provider, data_class, tenant, number)
);

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON egress_rules FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON egress_rules FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

-- +goose Down
DROP TABLE egress_rules, consents;
