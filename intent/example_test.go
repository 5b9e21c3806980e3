package intent_test

import (
	"errors"
	"fmt"
	"time"

	"writ/intent"
)

// The worker that claimed the first attempt is gone and left no answer. Whether the
// request may be sent again depends on what the tool's provider promises.
func ExampleNext() {
	claimed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, class := range []intent.Class{intent.Read, intent.Keyed, intent.Opaque} {
		record := intent.Record{
			State: intent.Invoking, Generation: 1, FirstSentAt: claimed,
			Attempts: []intent.Attempt{{Number: 1, Generation: 1, ClaimedAt: claimed, LeaseUntil: claimed.Add(15 * time.Second)}},
			Rules:    intent.Rules{Class: class, Timeout: 10 * time.Second, MaxAttempts: 3},
		}
		if class == intent.Keyed {
			record.Rules.Window = 24 * time.Hour // the provider remembers keys for a day
		}
		step := intent.Next(record, claimed.Add(time.Minute))
		fmt.Println(class, step.Kind, step.Reason)
	}
	// Output:
	// read invoke run_again
	// keyed invoke resend_same_key
	// opaque park opaque_is_never_sent_twice
}

// What is hashed, stored and sent is the one spelling of the payload; what has more than
// one meaning is refused.
func ExampleCanonicalPayload() {
	for _, payload := range []string{
		`{ "currency": "EUR", "amount": 1.290e1 }`,
		`{ "amount": 12.9, "currency": "\u0045UR" }`,
		`{ "amount": 12.9, "amount": 129 }`,
	} {
		canonical, err := intent.CanonicalPayload([]byte(payload), intent.MaxPayload)
		var refused *intent.Error
		if errors.As(err, &refused) {
			fmt.Println(refused.Code, "at byte", refused.Offset)
			continue
		}
		fmt.Println(string(canonical))
	}
	// Output:
	// {"amount":12.9,"currency":"EUR"}
	// {"amount":12.9,"currency":"EUR"}
	// duplicate_member at byte 18
}
