package policy

import (
	"fmt"

	"writ/intent"
)

// ConfirmationExpired is the denial of an intent that nobody confirmed in time.
func ConfirmationExpired() Decision {
	return Decision{Policy: builtIn, Code: intent.CodeConfirmationExpired,
		Reason: "too few people confirmed it in time; the same request again waits for them anew"}
}

// ConfirmationDenied is the denial of an intent by a person. note says why; it may be empty.
func ConfirmationDenied(principal, note string) Decision {
	reason := fmt.Sprintf("%s denied it", principal)
	if note != "" {
		reason += ": " + note
	}
	return Decision{Policy: builtIn, Code: intent.CodeConfirmationDenied, Reason: reason}
}
