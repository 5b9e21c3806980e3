-- The text of the policies that decisions name by their digest, and which of them are in force.

-- +goose Up

SET LOCAL lock_timeout = '2s';

CREATE TABLE policy_sets (
    digest    bytea PRIMARY KEY CHECK (length(digest) = 32),
    -- A JSON object: the text of each file under its name.
    files     bytea NOT NULL,
    stored_at timestamptz NOT NULL
);

-- Who put which set in force, and when. The one with the highest number is in force.
CREATE TABLE policy_changes (
    number                integer PRIMARY KEY CHECK (number > 0),
    digest                bytea NOT NULL REFERENCES policy_sets (digest),
    principal             text NOT NULL,
    roles                 text[] NOT NULL,
    on_behalf_of          text[] NOT NULL,
    authentication_source text NOT NULL,
    note                  text NOT NULL,
    changed_at            timestamptz NOT NULL
);

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON policy_sets FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON policy_sets FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON policy_changes FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON policy_changes FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

-- +goose Down
DROP TABLE policy_changes, policy_sets;
