-- Budgets: how many intents, how much money and how many open intents a tenant may have.

-- +goose Up

SET LOCAL lock_timeout = '2s';

CREATE TABLE budgets (
    id         uuid PRIMARY KEY,
    tenant     text NOT NULL,
    -- Whose intents, and of which tool. Empty: of any.
    requester  text NOT NULL,
    tool       text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('intents', 'money', 'concurrency')),
    -- As payloads spell it; empty for tools whose payloads name none.
    currency   text NOT NULL CHECK (kind = 'money' OR currency = ''),
    -- The length of its windows; zero: it counts what is open.
    span       interval NOT NULL CHECK ((kind = 'concurrency') = (span = interval '0') AND span >= interval '0'),
    -- NULL: it was removed.
    allowed    numeric CHECK (allowed >= 0),
    -- One line is one budget for ever, so that its count outlives a change of what is allowed.
    UNIQUE (tenant, requester, tool, kind, currency, span)
);

-- Who allowed how much, and when. The last one is in force.
CREATE TABLE budget_changes (
    budget_id  uuid NOT NULL REFERENCES budgets (id),
    number     integer NOT NULL CHECK (number > 0),
    allowed    numeric CHECK (allowed >= 0),
    principal  text NOT NULL,
    note       text NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (budget_id, number)
);

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON budget_changes FOR EACH ROW EXECUTE FUNCTION writ_refuse_change();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON budget_changes FOR EACH STATEMENT EXECUTE FUNCTION writ_refuse_change();

-- One narrow row for each budget, which every admission under it writes. Only the newest window
-- has a count: no other decides anything.
CREATE TABLE budget_counters (
    budget_id uuid PRIMARY KEY REFERENCES budgets (id),
    begun     timestamptz NOT NULL,
    used      numeric NOT NULL CHECK (used >= 0)
) WITH (fillfactor = 50);

-- What an intent was counted with. There is no reference to budgets: its check would lock their
-- rows, for nothing, since they are never deleted.
CREATE TABLE budget_charges (
    intent_id   uuid NOT NULL REFERENCES intents (id),
    budget_id   uuid NOT NULL,
    -- The generation that was admitted; one that took over a spent key has its predecessor's.
    generation  integer NOT NULL CHECK (generation > 0),
    amount      numeric NOT NULL CHECK (amount >= 0),
    -- The beginning of the window that it counts in.
    begun       timestamptz NOT NULL,
    -- NULL: it counts.
    released_at timestamptz,
    PRIMARY KEY (intent_id, budget_id, generation)
);

-- +goose Down
DROP TABLE budget_charges, budget_counters, budget_changes, budgets;
