package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"
)

// operation is one kind of effect.
type operation struct {
	// keyed operations demand an Idempotency-Key and honour it; the others do not look at it.
	keyed bool
	// referenced operations keep the Client-Reference of a request beside its effect, where it can be looked up. It keeps
	// nothing from happening twice.
	referenced bool
	// required names the members that the body must have, each with the rule that its value must satisfy.
	required []member
	// status and outcome are the answer's HTTP status and its "status" member.
	status  int
	outcome string
	// echo names the members of the body that the answer repeats, where present.
	echo []string
	// once says what may be done once only where the rules of business are on; zero for nothing.
	once once
}

// once is a rule of business: no second effect with the same value of a member.
type once struct {
	member string
	status int // of the refusal, with its code and reason
	code   string
	why    string
}

// member is a required member of a body.
type member struct {
	name string
	rule string // what a good value is, for the refusal
	good func(json.RawMessage) bool
}

// operations holds every effect endpoint by its path.
var operations = map[string]operation{
	"/v1/payments/capture": {
		keyed:    true,
		required: []member{identifier("payment_id"), amount, currency},
		status:   http.StatusCreated,
		outcome:  "captured",
		echo:     []string{"payment_id", "amount", "currency"},
		once:     once{"payment_id", http.StatusConflict, CodeAlreadyCaptured, "The payment was captured already."},
	},
	"/v1/payments/refund": {
		keyed:    true,
		required: []member{identifier("payment_id"), amount},
		status:   http.StatusCreated,
		outcome:  "refunded",
		echo:     []string{"payment_id", "amount", "currency"},
	},
	"/v1/transfers/create": {
		referenced: true,
		required:   []member{identifier("account_id"), amount, currency},
		status:     http.StatusCreated,
		outcome:    "created",
		echo:       []string{"account_id", "amount", "currency"},
	},
	"/v1/documents/delete": {
		keyed:    true,
		required: []member{identifier("document_id")},
		status:   http.StatusOK,
		outcome:  "deleted",
		echo:     []string{"document_id"},
		once:     once{"document_id", http.StatusNotFound, CodeDocumentNotFound, "There is no such document any more."},
	},
	"/v1/notifications/send": {
		required: []member{text("recipient", 320), text("body", 64<<10)},
		status:   http.StatusAccepted,
		outcome:  "accepted",
		echo:     []string{"recipient"},
	},
}

var (
	identifierForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)
	// Money is exact: a string with up to three decimals (the most that ISO 4217 has in use), or whole minor units. A JSON
	// number with a fraction or an exponent is refused, since half of all clients would round it.
	decimalForm  = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})(\.[0-9]{1,3})?$`)
	minorForm    = regexp.MustCompile(`^[1-9][0-9]{0,14}$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
)

var amount = member{
	name: "amount",
	rule: `a positive decimal string such as "125.00", or a positive integer of minor units such as 12500`,
	good: func(raw json.RawMessage) bool {
		if s, ok := asString(raw); ok {
			return decimalForm.MatchString(s) && strings.ContainsAny(s, "123456789")
		}
		return minorForm.Match(raw)
	},
}

var currency = member{
	name: "currency",
	rule: `three capital letters of ISO 4217, such as "EUR"`,
	good: func(raw json.RawMessage) bool {
		s, ok := asString(raw)
		return ok && currencyForm.MatchString(s)
	},
}

func identifier(name string) member {
	return member{
		name: name,
		rule: "a string of 1 to 128 ASCII letters, digits or . _ : / @ -, starting with a letter or digit",
		good: func(raw json.RawMessage) bool {
			s, ok := asString(raw)
			return ok && identifierForm.MatchString(s)
		},
	}
}

func text(name string, most int) member {
	return member{
		name: name,
		rule: fmt.Sprintf("a string of 1 to %d bytes that is not blank", most),
		good: func(raw json.RawMessage) bool {
			s, ok := asString(raw)
			return ok && len(s) <= most && strings.TrimSpace(s) != ""
		},
	}
}

func asString(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// parse checks a body and returns its members. Members that the operation does not know are kept in the ledger and
// otherwise ignored, as most providers do with metadata.
func (op operation) parse(body []byte) (map[string]json.RawMessage, *problem) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, refuse(http.StatusBadRequest, CodeInvalidJSON, "The body is not JSON in UTF-8; nothing was done.")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, refuse(http.StatusUnprocessableEntity, CodeInvalidRequest, "The body must be a JSON object; nothing was done.")
	}
	for _, m := range op.required {
		switch value, present := members[m.name]; {
		case !present:
			return nil, refuse(http.StatusUnprocessableEntity, CodeInvalidRequest,
				"%q is missing; it must be %s. Nothing was done.", m.name, m.rule)
		case !m.good(value):
			return nil, refuse(http.StatusUnprocessableEntity, CodeInvalidRequest,
				"%q must be %s. Nothing was done.", m.name, m.rule)
		}
	}
	return members, nil
}

// answer is what the provider will say about an effect, from its first answer to its last replay.
func (op operation) answer(effectID string, members map[string]json.RawMessage) (Answer, error) {
	said := map[string]any{"id": effectID, "status": op.outcome}
	for _, name := range op.echo {
		if value, present := members[name]; present {
			said[name] = value
		}
	}
	body, err := marshal(said)
	return Answer{Status: op.status, Body: body}, err
}

// oneLine removes the white space between the tokens of a valid body.
func oneLine(body []byte) (json.RawMessage, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, body); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
