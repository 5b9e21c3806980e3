package documents

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"writ/tools"
)

// Service deletes documents, somewhere else.
type Service interface {
	// Delete deletes a document once for each key, and answers the same to a key that it has
	// seen. ErrNotFound and ErrForbidden say that nothing was deleted; every other error leaves
	// that open.
	Delete(ctx context.Context, d Deletion) (Receipt, error)
}

// Deletion is one request to the service.
type Deletion struct {
	Tenant, Principal string
	DocumentID        string
	IdempotencyKey    string
}

// Receipt is the service's answer.
type Receipt struct {
	// Number is the service's own name of the deletion.
	Number string `json:"number"`
}

// The definite failures of a Service.
var (
	ErrNotFound  = errors.New("there is no such document")
	ErrForbidden = errors.New("the principal may not delete it")
)

var payload = json.RawMessage(`{
	"type": "object",
	"required": ["document_id"],
	"properties": {"document_id": {"type": "string", "minLength": 1, "maxLength": 128}},
	"additionalProperties": false
}`)

// NewDelete returns the tool records.delete over the service.
func NewDelete(service Service) tools.Tool {
	spec := tools.Spec{
		Name: "records.delete", Description: "Delete a document with the document service: document_id.",
		Provider: "document-service", SideEffectful: true, Idempotent: true, Retryable: true, Timeout: 10 * time.Second,
		Key:         tools.KeyContract{Remembers: tools.Window(24 * time.Hour)}, // what the service promises
		InputSchema: payload,
	}
	return tools.New(spec, func(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
		var asked struct {
			DocumentID string `json:"document_id"`
		}
		if err := inv.Decode(&asked); err != nil {
			return tools.Result{}, tools.NotApplied(err).AsFinal()
		}
		if !time.Now().Before(inv.SendBy()) {
			return tools.Result{}, tools.NotApplied(errors.New("the time of the attempt is over")).WithCode(tools.CodeNotSent).AsUncontacted()
		}
		who := inv.Context()
		receipt, err := service.Delete(ctx, Deletion{
			Tenant: who.Tenant, Principal: who.Principal, DocumentID: asked.DocumentID, IdempotencyKey: inv.IdempotencyKey(),
		})
		if err != nil {
			return tools.Result{}, failure(err)
		}
		result, err := tools.JSON(receipt)
		result.EffectID = receipt.Number
		return result, err
	})
}

// failure says what an error of the service shows of the document.
func failure(err error) *tools.Failure {
	switch {
	case errors.Is(err, ErrNotFound):
		// After an attempt whose answer was lost, that one has deleted it.
		return tools.NotApplied(err).WithCode("document_not_found").AsFinal().AsAlready()
	case errors.Is(err, ErrForbidden):
		return tools.NotApplied(err).WithCode("forbidden").AsFinal()
	}
	return tools.Unknown(err).WithCode("no_answer")
}
