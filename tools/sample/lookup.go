package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"writ/tools"
)

// Where the provider tells what it performed: under a key, and with a reference.
const (
	effectsPath   = "/v1/effects?key="
	transfersPath = "/v1/transfers?reference="
)

// codeNoEffect is the provider's answer to a lookup of a key under which it performed nothing.
const codeNoEffect = "effect_not_found"

// askable is a tool whose provider can be asked what became of an effect.
type askable struct {
	providerTool
	path string // of the lookup, up to the key
}

// performed is what a lookup tells of one effect.
type performed struct {
	EffectID string `json:"effect_id"`
	Answer   struct {
		Body json.RawMessage `json:"body"`
	} `json:"answer"`
}

// Reconcile asks for what was performed under the key.
func (t askable) Reconcile(ctx context.Context, inq tools.Inquiry) (tools.Finding, error) {
	answer, err := t.client.Lookup(ctx, inq, t.path+url.QueryEscape(inq.IdempotencyKey()))
	var f *tools.Failure
	switch {
	case errors.As(err, &f) && f.Code == codeNoEffect:
		return tools.Absent(), nil
	case err != nil:
		return tools.Finding{}, err
	}
	list, err := readList(answer.Body)
	if err != nil {
		return tools.Finding{}, tools.Unknown(err).WithCode("invalid_list")
	}
	if len(list) == 0 {
		return tools.Absent(), nil
	}
	first := list[0]
	found := tools.Result{MediaType: tools.MediaTypeJSON, Body: first.Answer.Body, EffectID: first.EffectID}
	return tools.Found(found).Times(len(list)), nil
}

// readList reads a provider's list. What is no list of named effects is an error: nothing may
// be concluded from what it lacks.
func readList(body []byte) ([]performed, error) {
	var list []performed
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("the provider's list cannot be read: %w", err)
	}
	if list == nil || slices.ContainsFunc(list, func(p performed) bool { return p.EffectID == "" }) {
		return nil, errors.New("the provider's answer is no list of effects")
	}
	return list, nil
}
