// Package effecthttp is the HTTP client for tools whose effect is an HTTP request.
//
// [Client.Do] sends at most one request for an invocation, whatever Go's transport would
// do by itself, not a byte of it after the invocation's send-by time, and says exactly
// what is known afterwards. An error of Do is always a *[tools.Failure]:
//
//	situation                                        outcome       code
//	send-by passed, or the context ended, before     not applied   not_sent
//	  the first byte of the request
//	refused connection, name without an address,     not applied   connection_refused, name_not_found,
//	  failed TLS, a proxy that gives no tunnel                     tls_failed, connection_failed
//	the request itself cannot be made                not applied,  invalid_request
//	                                                 final
//	anything may have been sent, no answer           unknown       timeout, connection_lost
//	408, 425, 429                                    not applied   the provider's, else http_408 ...
//	409 with code idempotency_key_in_use, or one     not applied,  that code
//	  of Request.InProgress                          in progress
//	a refusal in Request.Already                     not applied,  the provider's, else http_4xx
//	                                                 final,
//	                                                 already
//	other 4xx                                        not applied,  the provider's, else http_4xx
//	                                                 final
//	3xx                                              unknown       redirected
//	1xx, 5xx                                         unknown       http_5xx
//
// Any 2xx is success, also with a body that breaks off, is no JSON, or is longer than
// [MaxBody], of which the rest is not kept: the provider has acted.
//
// Why each status is taken for that:
//
//   - 408 says that the request did not arrive whole (RFC 9110, section 15.5.9), 425 that it was
//     not processed because it might be a replay (RFC 8470, section 5.2), 429 that it was one too many
//     (RFC 6585, section 4). The key stays, and Retry-After is kept to.
//   - Another 4xx is definite for its own request only: a 401 after a 504 says nothing of the
//     request that timed out. The engine, which knows all attempts, settles.
//   - 502 and 504 come from a gateway that does not know what the provider did (RFC 9110,
//     sections 15.6.3 and 15.6.5). 503 means overload or maintenance (section 15.6.4) and does
//     not promise that nothing was done first: it is unknown with or without Retry-After, which
//     only says when to ask again. So is every other 5xx.
//   - A redirect (section 15.4) may come after the effect, such as 303, or instead of it, such as 307.
//
// A failure answered with "Idempotent-Replayed: true" is marked Stored: it is what the provider
// kept for the key, and speaks of the first request with it.
//
// The provider's code is the "code" of a body such as {"error":{"code":"card_declined"}},
// if it is short and plain. Its Retry-After goes into the failure.
//
// [Client.Lookup] asks what became of an effect. It takes an inquiry, which Do does not, so
// that a lookup can never have an effect.
//
// This package must never send a request twice, follow a redirect, or call a failure "not
// applied" when a byte of the request may have reached the network.
package effecthttp
