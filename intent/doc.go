// Package intent is the pure floor of Writ: the rules by which one logical action keeps
// one identity and its effect happens once. It does no I/O, reads no clock and draws no
// random number; whatever it needs of the world is an argument.
//
//   - [Canonicalize] and [ReadPayload] give every JSON value one sequence of bytes; [ReadEnvelope]
//     takes the request around a payload apart, by exact names.
//   - [IntentID], [DeriveKey], [Fingerprint] and [Commitment] derive identity from those
//     bytes: which requests are the same action, and what exactly was authorized.
//   - [Next] decides the next step of an intent from its whole [Record]; [CanMove] says
//     which changes of [State] exist. The scenario files in testdata tell how they behave
//     and are the best place to start reading.
//   - [Error] is how every floor reports a refusal or a failure.
//
// # Errors
//
//	situation                              code
//	input is not acceptable JSON           invalid_json, invalid_utf8, lone_surrogate, duplicate_member,
//	                                       trailing_data, too_deep, number_too_long, number_out_of_range
//	payload over the limit, not an object  payload_too_large, payload_not_object
//	a request that is not exact            unknown_member, duplicate_member, invalid_request
//	a name, a request key, an intent's id  invalid_name, invalid_request_key, reserved_request_key,
//	                                       invalid_intent_id
//
// [Codes] is the table of all codes of Writ. Every rejection carries the offset of the byte that caused it where there is one.
package intent
