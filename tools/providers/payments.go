package providers

import (
	"time"

	"writ/tools"
)

// Payment service providers.
var (
	// Stripe is version 1 of its API.
	Stripe = Profile{
		Provider: "stripe", API: "Stripe API v1",
		Key:       "header `Idempotency-Key`, POST only",
		Remembers: tools.Window(24 * time.Hour), MaxLength: 255,
		Errors: ErrorsReplayed, Mismatch: tools.MismatchRefused,
		Busy:   "a conflict, which is not stored",
		Lookup: "retrieve the object that the effect changes, or list; not search, which lags by up to a minute and more in an outage",
		Note: "Also answers of status 500 are stored. Failed validation is not, and neither is a conflict with a request at the same " +
			"time. API v2 has other rules and another window.",
		Sources: []string{"https://docs.stripe.com/api/idempotent_requests", "https://docs.stripe.com/error-low-level", "https://docs.stripe.com/search"},
	}

	// Adyen is its payments API.
	Adyen = Profile{
		Provider: "adyen", API: "Adyen API",
		Key:       "header `Idempotency-Key`, POST only",
		Remembers: tools.Window(7 * 24 * time.Hour), MaxLength: 64,
		Busy: "422 or 409 with error 704, or an error with the header `transient-error: true`",
		Note: "An older copy of the page promised 31 days. Keys are not compared between regional endpoints: send all attempts to one. Retry an " +
			"error only if its header `transient-error` is true.",
		Sources: []string{"https://docs.adyen.com/development-resources/api-idempotency"},
	}

	// PayPalOrders is version 2 of its Orders API.
	PayPalOrders = Profile{
		Provider: "paypal", API: "PayPal Orders v2",
		Key:       "header `PayPal-Request-Id`, POST only",
		Remembers: tools.Window(6 * time.Hour), MaxLength: 108,
		Busy: "an error, perhaps",
		Note: "PayPal lengthens the window to 72 hours on request. A known key is answered with the latest status of its request.",
		Sources: []string{
			"https://developer.paypal.com/api/rest/reference/idempotency",
			"https://github.com/paypal/PayPal-TypeScript-Server-SDK/blob/main/doc/controllers/orders.md",
		},
	}

	// PayPalPayments is version 2 of its Payments API: captures, refunds, voids.
	PayPalPayments = Profile{
		Provider: "paypal", API: "PayPal Payments v2",
		Key:       "header `PayPal-Request-Id`, POST only",
		Remembers: tools.Window(45 * 24 * time.Hour),
		Busy:      "an error, perhaps",
		Lookup:    "show the authorized or captured payment that the effect changes, by its id",
		Note:      "A known key is answered with the latest status of its request.",
		Sources: []string{
			"https://developer.paypal.com/api/rest/reference/idempotency",
			"https://github.com/paypal/PayPal-TypeScript-Server-SDK/blob/main/doc/controllers/payments.md",
		},
	}

	// Braintree is at-most-once processing in its GraphQL API.
	Braintree = Profile{
		Provider: "braintree", API: "Braintree GraphQL, at-most-once processing",
		Key:       "`ApiRequestKey`",
		Remembers: tools.Window(30 * 24 * time.Hour),
		Busy:      "a validation error that may be retried",
		Note: "Only for merchants whom Braintree admits. The duplicate checking that every account has is something else: it compares amount, order and " +
			"payment method within 30 seconds, and is no promise about a key.",
		Sources: []string{"https://developer.paypal.com/braintree/graphql/integration_guides/idempotency"},
	}

	// Square is its Payments API.
	Square = Profile{
		Provider: "square", API: "Square Payments (CreatePayment)",
		Key:       "member `idempotency_key` of the body",
		Remembers: tools.WindowUnknown, MaxLength: 45,
		Mismatch: tools.MismatchRefused,
		Note:     "The documentation says that the answer to other parameters varies between its APIs.",
		Sources: []string{
			"https://developer.squareup.com/docs/build-basics/common-api-patterns/idempotency",
			"https://github.com/square/square-php-sdk/blob/master/doc/models/create-payment-request.md",
		},
	}

	// CheckoutCom is its payments and transfers.
	CheckoutCom = Profile{
		Provider: "checkout_com", API: "Checkout.com payments and transfers",
		Key:       "header `Cko-Idempotency-Key`",
		Remembers: tools.Window(24 * time.Hour),
		Errors:    ErrorsForgotten,
		Busy:      "429",
		Note:      "The window of an account can be changed on request: look up your own. Older copies of the page give 120 seconds in the sandbox.",
		Sources:   []string{"https://www.checkout.com/docs/payments/manage-payments/idempotency", "https://checkout.com/docs/payments/manage-payments/retry-a-payment"},
	}

	// GoCardless is its API's creation endpoints.
	GoCardless = Profile{
		Provider: "gocardless", API: "GoCardless, creation of resources",
		Key:       "header `Idempotency-Key`",
		Remembers: tools.WindowUnknown,
		Lookup:    "the conflict names the resource that exists, as `conflicting_resource_id`",
		Note: "A known key is answered with 409 and the reason `idempotent_creation_conflict`, not with the first answer: a tool says of that answer " +
			"that the effect was there already (AsAlready).",
		Sources: []string{"https://gocardless.com/blog/idempotency-keys/", "https://github.com/gocardless/gocardless-nodejs"},
	}

	// Mollie is its API.
	Mollie = Profile{
		Provider: "mollie", API: "Mollie API",
		Key:       "header `Idempotency-Key`, POST only",
		Remembers: tools.Window(time.Hour),
		Mismatch:  tools.MismatchRefused,
		Busy:      "409",
		Lookup:    "list, as the documentation itself advises",
		Note:      "The page speaks of 24 hours and of one; the shorter one stands here. After it, a key is a new request.",
		Sources: []string{
			"https://docs.mollie.com/reference/api-idempotency",
			"https://github.com/mollie/api-documentation/blob/master/source/overview/api-idempotency.rst",
		},
	}

	// WorldlineDirect is its payment API.
	WorldlineDirect = Profile{
		Provider: "worldline", API: "Worldline Direct",
		Key:       "header `X-GCS-Idempotence-Key`",
		Remembers: tools.Window(24 * time.Hour), MaxLength: 40,
		Mismatch: tools.MismatchReplayed,
		Busy:     "409",
		Sources: []string{
			"https://docs.direct.worldline-solutions.com/integration/api-developer-guide/idempotent-requests",
			"https://docs.connect.worldline-solutions.com/documentation/error-handling/idempotent-requests",
		},
	}
)
