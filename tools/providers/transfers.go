package providers

import (
	"time"

	"writ/tools"
)

// Banks and providers of transfers.
var (
	// Wise is its transfers.
	Wise = Profile{
		Provider: "wise", API: "Wise transfers",
		Key:       "member `customerTransactionId` of the body, a UUID",
		Remembers: tools.WindowUnknown,
		Sources:   []string{"https://docs.wise.com/guides/product/send-money/standard-api-transfers"},
	}

	// RazorpayX is its payouts.
	RazorpayX = Profile{
		Provider: "razorpay", API: "RazorpayX payouts",
		Key:       "header `X-Payout-Idempotency`; letters, digits, hyphens, underscores and spaces",
		Remembers: tools.Window(7 * 24 * time.Hour), MaxLength: 36,
		Errors: ErrorsReplayed, Mismatch: tools.MismatchRefused,
		Note:    "A known key is answered with the latest state of its payout; after a failed one a new key is needed.",
		Sources: []string{"https://razorpay.com/docs/api/x/payout-idempotency/", "https://curlec.com/docs/api/x/payout-idempotency/"},
	}

	// ModernTreasury is its API.
	ModernTreasury = Profile{
		Provider: "modern_treasury", API: "Modern Treasury API",
		Key:       "header `Idempotency-Key`, POST only",
		Remembers: tools.Window(24 * time.Hour),
		Errors:    ErrorsForgotten, Mismatch: tools.MismatchReplayed,
		Busy:    "409",
		Note:    "Keys are separate for each API key: a rotation of the credentials between two attempts sends the effect twice.",
		Sources: []string{"https://docs.moderntreasury.com/reference/idempotent-requests"},
	}

	// PlaidBankTransfers is its bank transfers.
	PlaidBankTransfers = Profile{
		Provider: "plaid", API: "Plaid Bank Transfers",
		Key:       "member `idempotency_key` of the body",
		Remembers: tools.Window(7 * 24 * time.Hour),
		Mismatch:  tools.MismatchPerformed,
		Note:      "The key counts together with account, amount, type and network. Plaid Transfer takes no key: its authorization's id is one.",
		Sources:   []string{"https://plaid.com/docs/bank-transfers/idempotency-and-retries/"},
	}

	// Dwolla is its API.
	Dwolla = Profile{
		Provider: "dwolla", API: "Dwolla API",
		Key:       "header `Idempotency-Key`, POST only",
		Remembers: tools.Window(24 * time.Hour),
		Busy:      "409",
		Sources:   []string{"https://developers.dwolla.com/docs/balance/api-reference/api-fundamentals/idempotency-key"},
	}

	// Increase is its API.
	Increase = Profile{
		Provider: "increase", API: "Increase API",
		Key:       "header `Idempotency-Key`, POST only",
		Remembers: tools.WindowUnknown, MaxLength: 200,
		Mismatch: tools.MismatchRefused,
		Lookup:   "list with the filter `idempotency_key`",
		Sources:  []string{"https://increase.com/documentation/idempotency-keys"},
	}

	// TrueLayer is version 3 of its Payments API.
	TrueLayer = Profile{
		Provider: "truelayer", API: "TrueLayer Payments v3",
		Key:       "header `Idempotency-Key`",
		Remembers: tools.Window(6 * time.Hour),
		Mismatch:  tools.MismatchRefused,
		Note:      "Two pages differ: one gives 6 hours, one 30 days. The shorter one stands here.",
		Sources:   []string{"https://docs.truelayer.com/docs/idempotency", "https://docs.truelayer.com/docs/idempotency-for-payment-requests"},
	}

	// Qonto is its API.
	Qonto = Profile{
		Provider: "qonto", API: "Qonto API",
		Key:       "header `X-Qonto-Idempotency-Key`",
		Remembers: tools.Window(30 * time.Minute),
		Errors:    ErrorsForgotten, Mismatch: tools.MismatchReplayed,
		Sources: []string{"https://docs.qonto.com/get-started/general/idempotent-requests"},
	}
)
