// Package providers holds the key contracts of known providers, as their own documentation
// states them, each with its source. A tool takes one into its spec:
//
//	tools.Spec{
//		Name: "payments.capture", SideEffectful: true, Idempotent: true,
//		Provider: providers.Stripe.Provider,
//		Key:      providers.Stripe.Contract(),
//	}
//
// A value that the documentation does not state is unknown, and [Profile.Contract] takes the
// unknown for the worse: an open outcome whose window is unknown is never sent again. Who knows
// more, from a contract or from the provider's support, sets the field in the spec.
//
// docs/providers.md is made of these profiles. This package must never hold a guess, and never
// talk to a provider.
package providers
