package effecthttp

import (
	"writ/intent"
	"writ/tools"
)

// AttemptCodes returns the table of the codes that this package gives by itself. Where a
// 4xx names a code of its own, that one stands instead of http_4xx, with the same outcome.
func AttemptCodes() []tools.AttemptCode {
	return []tools.AttemptCode{
		{Code: codeConnectionRefused, Outcome: intent.NotApplied, Meaning: "The provider's port took no connection, so nothing was sent."},
		{Code: codeNameNotFound, Outcome: intent.NotApplied, Meaning: "The provider's name has no address, so nothing was sent."},
		{Code: codeTLSFailed, Outcome: intent.NotApplied, Meaning: "The provider's certificate or TLS was not accepted, so nothing was sent."},
		{Code: codeConnectionFailed, Outcome: intent.NotApplied, Meaning: "There was no connection for another reason, so nothing was sent."},
		{Code: codeInvalidRequest, Outcome: intent.NotApplied, Final: true, Meaning: "The tool's code asked for a request that cannot be made."},
		{Code: codeTimeout, Outcome: intent.Unknown, Meaning: "The request may have been sent, and no answer came in time."},
		{Code: codeConnectionLost, Outcome: intent.Unknown, Meaning: "The request may have been sent, and the connection broke before the answer."},
		{Code: codePartialAnswer, Outcome: intent.Unknown, Meaning: "The answer to a lookup broke off or was too long, and what is missing may be the effect."},
		{Code: "http_408", Outcome: intent.NotApplied, Meaning: "The provider did not get the whole request in time (RFC 9110, section 15.5.9) and did not act."},
		{Code: "http_425", Outcome: intent.NotApplied, Meaning: "The provider did not want the request so early (RFC 8470, section 5.2) and did not act."},
		{Code: "http_429", Outcome: intent.NotApplied, Meaning: "The provider had too many requests (RFC 6585, section 4) and did not act; its `Retry-After` is kept to."},
		{Code: CodeKeyInUse, Outcome: intent.NotApplied, InProgress: true,
			Meaning: "The provider still works on an earlier request with this key (409); it is asked again without spending an attempt of the budget."},
		{Code: "http_4xx", Outcome: intent.NotApplied, Final: true, Meaning: "The provider refused the request. That is certain of this request and says nothing of an earlier one without an answer."},
		{Code: codeRedirected, Outcome: intent.Unknown, Meaning: "The provider answered with a redirect, which is not followed."},
		{Code: "http_1xx", Outcome: intent.Unknown, Meaning: "The provider switched protocols, which nobody asked for."},
		{Code: "http_502", Outcome: intent.Unknown, Meaning: "A gateway did not understand the provider's answer (RFC 9110, section 15.6.3); the provider may have acted."},
		{Code: "http_503", Outcome: intent.Unknown,
			Meaning: "The provider was overloaded or in maintenance, which does not say that it did nothing first (RFC 9110, section 15.6.4); its `Retry-After` is kept to."},
		{Code: "http_504", Outcome: intent.Unknown, Meaning: "A gateway had no answer from the provider in time (RFC 9110, section 15.6.5); the provider may have acted."},
		{Code: "http_5xx", Outcome: intent.Unknown, Meaning: "The provider failed, or answered with a status that HTTP does not define."},
	}
}
