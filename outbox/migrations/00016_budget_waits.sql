-- Intents that wait for a budget to have room again, instead of being refused.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- What becomes of what a budget has no room for. The defaults are constants, so no row is rewritten.
ALTER TABLE budgets ADD COLUMN over text NOT NULL DEFAULT 'deny' CHECK (over IN ('deny', 'wait'));
ALTER TABLE budget_changes ADD COLUMN over text NOT NULL DEFAULT 'deny' CHECK (over IN ('deny', 'wait'));

-- One row for each intent that no budget has counted yet, until all that it falls under do. It
-- stands in the line of one of them, which had no room.
CREATE TABLE budget_waits (
    intent_id  uuid PRIMARY KEY REFERENCES intents (id),
    -- First come, first admitted. Times would not tell where the clock went back.
    number     bigint GENERATED ALWAYS AS IDENTITY,
    -- The generation that waits.
    generation integer NOT NULL CHECK (generation > 0),
    -- What budgets of money count of it; NULL if its tool's spec names no amount.
    money      jsonb,
    -- In whose line it stands, and what it asks that budget for: infinity if that cannot be counted.
    budget_id  uuid NOT NULL,
    amount     numeric NOT NULL CHECK (amount >= 0),
    since      timestamptz NOT NULL
);

CREATE INDEX budget_waits_line ON budget_waits (budget_id, number);

-- writ doctor adds up what counts in the windows that run, and reads no others.
CREATE INDEX budget_charges_counting ON budget_charges (budget_id, begun) INCLUDE (amount) WHERE released_at IS NULL;

-- +goose Down
-- What waits was not counted and would be sent by an older release: nothing was sent of it yet.
ALTER TABLE intents DISABLE TRIGGER guard;
UPDATE intents SET state = 'refused', ended_at = writ_now(), due_at = NULL
WHERE id IN (SELECT intent_id FROM budget_waits) AND state IN ('recorded', 'awaiting_confirmation');
ALTER TABLE intents ENABLE TRIGGER guard;
DROP TABLE budget_waits;
DROP INDEX budget_charges_counting;
ALTER TABLE budget_changes DROP COLUMN over;
ALTER TABLE budgets DROP COLUMN over;
