package demo

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// retryFreeze is the time between two looks whether the worker has captures in flight.
const retryFreeze = 10 * time.Millisecond

// casualty is what a killed worker leaves.
type casualty struct {
	at       time.Time   // by the database's clock
	inFlight []intent.ID // whose attempts it had claimed and has no evidence of
}

// killInFlight kills the worker with SIGKILL at a moment at which it has
// captures in flight: claimed, so that it may have sent them, and without
// evidence of what the provider did. To be sure of that, it first freezes the
// worker and then looks. It fails if idle is closed first.
func killInFlight(ctx context.Context, database *pgx.Conn, victim *worker, idle <-chan struct{}) (casualty, error) {
	for {
		if err := victim.process.Signal(syscall.SIGSTOP); err != nil {
			return casualty{}, fmt.Errorf("freeze %s: %w", victim.name, err)
		}
		dead, err := killFrozen(ctx, database, victim)
		if err != nil {
			return casualty{}, fmt.Errorf("kill %s: %w", victim.name, err)
		}
		if len(dead.inFlight) > 0 {
			return dead, nil
		}
		if err := victim.process.Signal(syscall.SIGCONT); err != nil {
			return casualty{}, fmt.Errorf("thaw %s: %w", victim.name, err)
		}
		select {
		case <-time.After(retryFreeze):
		case <-idle:
			return casualty{}, errors.New("all captures ended before a worker could be killed with some in flight")
		case <-ctx.Done():
			return casualty{}, context.Cause(ctx)
		}
	}
}

// killFrozen kills the frozen worker if it has captures in flight.
func killFrozen(ctx context.Context, database *pgx.Conn, victim *worker) (casualty, error) {
	// Twice: what the worker had sent to the database before it froze may be
	// on its way at the first look.
	for range 2 {
		if open, err := openClaims(ctx, database, victim.identity); err != nil || len(open) == 0 {
			return casualty{}, err
		}
	}
	var dead casualty
	if err := database.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&dead.at); err != nil {
		return casualty{}, err
	}
	if err := victim.process.Signal(syscall.SIGKILL); err != nil {
		return casualty{}, err
	}
	<-victim.process.Ended()
	var err error
	dead.inFlight, err = openClaims(ctx, database, victim.identity)
	if err == nil && len(dead.inFlight) == 0 {
		err = errors.New("it had nothing in flight after all")
	}
	return dead, err
}

// openClaims returns the intents of which the worker has claimed an attempt
// and recorded no evidence.
func openClaims(ctx context.Context, database *pgx.Conn, identity string) ([]intent.ID, error) {
	rows, err := database.Query(ctx, "SELECT intent_id FROM attempts WHERE worker = $1 AND outcome IS NULL", identity)
	if err != nil {
		return nil, fmt.Errorf("look for claims: %w", err)
	}
	claims, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return nil, fmt.Errorf("look for claims: %w", err)
	}
	ids := make([]intent.ID, len(claims))
	for i, claim := range claims {
		ids[i] = intent.ID(claim)
	}
	return ids, nil
}
