// Package effecthttp is the HTTP client for tools whose effect is an HTTP request.
//
// [Client.Do] sends at most one request for an invocation, whatever Go's transport would
// do by itself, not a byte of it after the invocation's send-by time, and says exactly
// what is known afterwards. An error of Do is always a *[tools.Failure]:
//
//	situation                                        outcome       code
//	send-by passed, or the context ended, before     not applied   not_sent
//	  the first byte of the request
//	no connection                                    not applied   connection_refused, name_not_found,
//	                                                               tls_failed, connection_failed
//	the request itself cannot be made                not applied,  invalid_request
//	                                                 final
//	anything may have been sent, no answer           unknown       timeout, connection_lost
//	408, 425, 429                                    not applied   the provider's, else http_408 ...
//	409 with code idempotency_key_in_use             not applied,  idempotency_key_in_use
//	                                                 in progress
//	other 4xx                                        not applied,  the provider's, else http_4xx
//	                                                 final
//	3xx                                              unknown       redirected
//	1xx, 5xx                                         unknown       http_5xx
//
// A 2xx is success, also if the body breaks off after it: the provider has acted.
//
// The provider's code is the "code" of a body such as {"error":{"code":"card_declined"}},
// if it is short and plain. Its Retry-After goes into the failure.
//
// This package must never send a request twice, follow a redirect, or call a failure "not
// applied" when a byte of the request may have reached the network.
package effecthttp
