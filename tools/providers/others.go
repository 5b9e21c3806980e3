package providers

import (
	"time"

	"writ/tools"
)

// Clouds, shops and messages.
var (
	// AmazonEC2 is RunInstances.
	AmazonEC2 = Profile{
		Provider: "aws_ec2", API: "Amazon EC2 RunInstances",
		Key:       "parameter `ClientToken`, ASCII",
		Remembers: tools.Window(24 * time.Hour), MaxLength: 64,
		Mismatch: tools.MismatchRefused,
		Lookup:   "describe the instances: the token is part of the description",
		Note: "The promise is 24 hours after the end of the instance, and so at least 24 hours. A token counts within its Region only. For other " +
			"actions the documentation gives no time.",
		Sources: []string{
			"https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html",
			"https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Run_Instance_Idempotency.html",
		},
	}

	// AmazonECS is RunTask.
	AmazonECS = Profile{
		Provider: "aws_ecs", API: "Amazon ECS RunTask",
		Key:       "parameter `clientToken`, ASCII from 33 to 126",
		Remembers: tools.Window(time.Hour), MaxLength: 64,
		Mismatch: tools.MismatchRefused,
		Note: "The promise is 24 hours or an hour after the end of the task, whichever is less, and so an hour if the task ends at once. A token counts " +
			"within its cluster only. CreateService and CreateTaskSet take 36 characters.",
		Sources: []string{"https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html"},
	}

	// GoogleCloud is the APIs whose reference promises an hour.
	GoogleCloud = Profile{
		Provider: "google_cloud", API: "Google Cloud APIs that promise an hour (such as Batch, VM Migration)",
		Key:       "parameter `requestId`, a UUID other than zero",
		Remembers: tools.Window(time.Hour), MaxLength: 36,
		Note: "Read the reference of the method: the promise stands there or is missing. AIP-155 lets an API choose any time, and declares the id as a UUID " +
			"of version 4; Writ's are of version 8.",
		Sources: []string{
			"https://cloud.google.com/python/docs/reference/batch/0.17.14/google.cloud.batch_v1.types.DeleteJobRequest",
			"https://google.aip.dev/155",
		},
	}

	// GoogleCompute is Compute Engine.
	GoogleCompute = Profile{
		Provider: "google_compute", API: "Google Compute Engine",
		Key:       "parameter `requestId`, a UUID other than zero",
		Remembers: tools.WindowUnknown, MaxLength: 36,
		Sources: []string{"https://cloud.google.com/python/docs/reference/compute/1.10.1/google.cloud.compute_v1.types.InsertInstanceRequest"},
	}

	// Shopify is the mutations of its GraphQL Admin API that take the directive.
	Shopify = Profile{
		Provider: "shopify", API: "Shopify GraphQL Admin, mutations with `@idempotent`",
		Key:       "directive `@idempotent(key: …)`",
		Remembers: tools.Window(24 * time.Hour),
		Mismatch:  tools.MismatchRefused,
		Busy:      "the user error `IDEMPOTENCY_CONCURRENT_REQUEST`",
		Note: "Errors come with status 200, as `userErrors`. The order of input fields counts when parameters are compared. Mutations with an " +
			"`idempotencyKey` argument instead have no documented window.",
		Sources: []string{"https://shopify.dev/docs/api/usage/implementing-idempotency", "https://shopify.dev/docs/api/usage/idempotent-requests"},
	}

	// Resend is its emails.
	Resend = Profile{
		Provider: "resend", API: "Resend emails",
		Key:       "header `Idempotency-Key`",
		Remembers: tools.Window(24 * time.Hour), MaxLength: 256,
		Mismatch: tools.MismatchRefused,
		Busy:     "409 with `concurrent_idempotent_requests`",
		Sources:  []string{"https://resend.com/docs/dashboard/emails/idempotency-keys"},
	}

	// OneSignal is its messages and custom events.
	OneSignal = Profile{
		Provider: "onesignal", API: "OneSignal messages and custom events",
		Key:       "member `idempotency_key` of the body, a UUID",
		Remembers: tools.Window(30 * 24 * time.Hour),
		Sources: []string{
			"https://documentation.onesignal.com/docs/en/example-full-integration-reliable-push",
			"https://documentation.onesignal.com/reference/idempotent-notification-requests",
		},
	}
)

// twilio says itself that its requests are not idempotent.
var twilio = Keyless{
	Provider: "twilio", API: "Twilio messages and calls",
	Says:   "A POST that sends a message or starts a call is not idempotent; one that is sent again after a 500 can reach the customer twice.",
	Source: "https://www.twilio.com/docs/api/errors/20500",
}

// All returns every profile, in the order of the documentation.
func All() []Profile {
	return []Profile{
		Stripe, Adyen, PayPalOrders, PayPalPayments, Braintree, Square, CheckoutCom, GoCardless, Mollie, WorldlineDirect,
		Wise, RazorpayX, ModernTreasury, PlaidBankTransfers, Dwolla, Increase, TrueLayer, Qonto,
		AmazonEC2, AmazonECS, GoogleCloud, GoogleCompute, Shopify, Resend, OneSignal,
	}
}

// WithoutKeys returns the APIs that are known to take no idempotency key.
func WithoutKeys() []Keyless { return []Keyless{twilio} }
