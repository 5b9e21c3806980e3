// Package writ is a durable engine for tool effects. A [Client] asks for a tool to be
// run; a [Worker] hosts tools and runs them. Writ authorizes the request, commits it with
// an idempotency key before anything is sent, invokes the tool with exactly that key, and
// journals a receipt, each intent as one Temporal workflow over PostgreSQL.
//
//	cfg, err := writ.FromEnvironment()
//	client, err := writ.Dial(ctx, cfg)
//	done, err := client.Execute(ctx, writ.Request{
//		Tool: "payments.capture", RequestKey: "order-4711", Principal: "shop",
//		Payload: []byte(`{"payment_id":"pay_1","amount":"12.90","currency":"EUR"}`),
//	})
//
// # Errors
//
// Every error of a call is, or wraps, an [Error]: a stable code, what to do, whether the
// effect happened, and whether the same request again can help.
//
//	situation                                            code                    effect
//	bad input (also at the tool's own validation)        see package intent      not_applied
//	no worker hosts a tool of that name                  unknown_tool            not_applied
//	the request names no principal                       unauthenticated         not_applied
//	the request key names another action                 idempotency_conflict    not_applied
//	it names this one, asked with another authority      effect_context_mismatch not_applied
//	policy said no                                       policy_denied, …        not_applied
//	it repeats another request, and the tool refuses     duplicate_suspected     not_applied
//	it waits for a person to confirm it                  confirmation_required   not_applied
//	every attempt provably had no effect, or somebody
//	said so                                              failed                  not_applied
//	a person cancelled it, and nothing happened          cancelled               not_applied
//	the effect may have happened; nothing more is sent   in_doubt                unknown
//	evidence came that shows another effect than the end contradicted            as it shows
//	a decision that the intent's state does not take     not_in_doubt, …         unknown
//	trying again could make the effect happen twice      retry_refused           unknown
//	the caller stopped waiting                           not_yet_known           unknown
//	PostgreSQL or Temporal did not answer                database_unavailable,   unknown
//	                                                     temporal_unavailable
//	PostgreSQL or Temporal said no                       database_refused,       unknown
//	                                                     database_access_denied,
//	                                                     temporal_refused
//	the schema of the outbox is old                      migration_required      unknown
//	a URL or an option cannot be used                    invalid_configuration   not_applied
//
// docs/errors.md has all codes; [intent.Codes] is the table that it is made of.
//
// After every error whose effect is unknown but in_doubt and contradicted, the same request with the same request key
// is always safe: it joins the intent if there is one.
package writ
