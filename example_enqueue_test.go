package writ_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ"
)

// Ask for a payment to be captured in the transaction that writes the order: either both are
// there, or neither is. Nothing is sent before the commit, and the capture happens once even if
// this process dies right after it.
func ExampleEnqueue() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)

	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO orders (number, amount) VALUES ($1, $2)`, 4711, "12.90"); err != nil {
			return err
		}
		enqueued, err := writ.Enqueue(ctx, tx, writ.Request{
			Tool:       "payments.capture",
			RequestKey: "capture-order-4711",
			Principal:  "till-7",
			Payload:    []byte(`{"payment_id":"pay_1","amount":"12.90","currency":"EUR"}`),
		}, writ.EnqueueOptions{NotBefore: time.Now().Add(time.Hour)}) // the customer may change their mind
		if err == nil {
			fmt.Println("writ intent get", enqueued.ID)
		}
		return err
	})
	if err != nil {
		log.Fatal(err) // the order is not there either
	}
}

// Wake the workers after the commit, so that the capture does not wait for their next look, which
// is a second away at most.
func ExampleWake() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := writ.Enqueue(ctx, tx, writ.Request{
			Tool:       "payments.capture",
			RequestKey: "capture-order-4711",
			Principal:  "till-7",
			Payload:    []byte(`{"payment_id":"pay_1","amount":"12.90","currency":"EUR"}`),
		}, writ.EnqueueOptions{})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := writ.Wake(ctx, pool); err != nil {
		log.Print("the capture waits for a second: ", err)
	}
}
