-- Intents that more than one person has to confirm. What is on the row already needs one.

-- +goose Up

SET LOCAL lock_timeout = '2s';

-- How many different people must confirm. The commitment covers the decision that says so. The
-- default is a constant, so no row is rewritten.
ALTER TABLE intents
    ADD COLUMN approvers integer NOT NULL DEFAULT 1,
    ADD CONSTRAINT intents_approvers CHECK (approvers > 0) NOT VALID;

-- +goose StatementBegin
-- Beside the guard of all changes, for the two that a quorum is about.
CREATE FUNCTION writ_guard_quorum() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    confirmed integer;
BEGIN
    IF NEW.approvers <> OLD.approvers THEN
        RAISE EXCEPTION 'writ: how many people must confirm intent % cannot change', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'awaiting_confirmation' AND NEW.state = 'recorded' THEN
        -- Each person once, for exactly what is on the row, and in time.
        SELECT count(DISTINCT principal) INTO confirmed FROM decisions
        WHERE intent_id = OLD.id AND kind = 'confirm' AND commitment = OLD.commitment AND decided_at < OLD.confirm_by;
        IF confirmed < OLD.approvers OR NEW.commitment <> OLD.commitment THEN
            RAISE EXCEPTION 'writ: % of % people have confirmed intent %', confirmed, OLD.approvers, OLD.id
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

CREATE TRIGGER guard_quorum BEFORE UPDATE ON intents FOR EACH ROW
    WHEN (NEW.approvers <> OLD.approvers OR OLD.state = 'awaiting_confirmation')
    EXECUTE FUNCTION writ_guard_quorum();

-- +goose Down
-- An older release would let go on what one of several people has confirmed.
ALTER TABLE intents DISABLE TRIGGER guard;
UPDATE intents SET state = 'refused', ended_at = writ_now(), due_at = NULL WHERE state = 'awaiting_confirmation' AND approvers > 1;
ALTER TABLE intents ENABLE TRIGGER guard;
DROP TRIGGER guard_quorum ON intents;
DROP FUNCTION writ_guard_quorum();
ALTER TABLE intents DROP COLUMN approvers;
