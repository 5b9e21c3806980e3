package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// The codes of every refusal. They are stable: clients match them, messages are for people.
const (
	CodeInvalidJSON      = "invalid_json"
	CodeBodyTooLarge     = "body_too_large"
	CodeInvalidRequest   = "invalid_request"
	CodeKeyMissing       = "idempotency_key_missing"
	CodeKeyInvalid       = "idempotency_key_invalid"
	CodeKeyReused        = "idempotency_key_reused"
	CodeReferenceInvalid = "client_reference_invalid"
	CodeKeyInUse         = "idempotency_key_in_use"
	CodeCardDeclined     = "card_declined"
	CodeRefused          = "refused"
	CodeGatewayTimeout   = "gateway_timeout"
	CodeAlreadyCaptured  = "already_captured"
	CodeDocumentNotFound = "document_not_found"
	CodeInvalidSettings  = "invalid_settings"
	CodeRateLimited      = "rate_limited"
	CodeInternal         = "internal_error"
	CodeStopping         = "provider_stopping"
	CodeLedgerFailed     = "ledger_failed"
	CodeEffectNotFound   = "effect_not_found"
	CodeNoSuchEndpoint   = "no_such_endpoint"
	CodeUnknownFault     = "unknown_fault"
	CodeInvalidFault     = "invalid_fault"
	CodeFaultExists      = "fault_exists"
	CodeFaultNotFound    = "fault_not_found"
	CodeInvalidQuery     = "invalid_query"
	CodeNotSeen          = "request_not_seen"
)

// problem is a refusal on its way to the client.
type problem struct {
	status     int
	code       string
	message    string
	retryAfter int // seconds, sent as Retry-After; 0 for none
}

func refuse(status int, code, format string, args ...any) *problem {
	return &problem{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// problemBody is the JSON form of a problem.
type problemBody struct {
	Error problemDetail `json:"error"`
}

type problemDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func writeProblem(w http.ResponseWriter, p *problem) error {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	return writeJSON(w, p.status, problemBody{Error: problemDetail{Code: p.code, Message: p.message}})
}

// writeJSON sends v. An error means that the client may not have all of it.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := marshal(v)
	if err != nil {
		return fmt.Errorf("sandbox: encode an answer: %w", err)
	}
	return writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body json.RawMessage) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("sandbox: send an answer: %w", err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return fmt.Errorf("sandbox: send an answer: %w", err)
	}
	return nil
}
