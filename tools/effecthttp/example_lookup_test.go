package effecthttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"writ/internal/invocation"
	"writ/tools"
	"writ/tools/effecthttp"
)

// Transfers is a tool whose provider ignores keys and lists transfers by their reference.
type Transfers struct{ client *effecthttp.Client }

func (t Transfers) Spec() tools.Spec {
	return tools.Spec{
		Name: "transfers.create", SideEffectful: true, Retryable: true, Provider: "bank",
		Reconcilable: true,
		Lookup:       tools.LookupContract{SettleDelay: time.Minute, Max: 20}, // a minute until a transfer shows in the list
	}
}

func (t Transfers) Invoke(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
	answer, err := t.client.Do(ctx, inv, effecthttp.Request{
		Path: "/transfers", Body: inv.Payload(), KeyHeader: effecthttp.NoKey, ReferenceHeader: "Client-Reference", EffectID: "/id",
	})
	if err != nil {
		return tools.Result{}, err
	}
	return answer.Result()
}

func (t Transfers) Reconcile(ctx context.Context, inq tools.Inquiry) (tools.Finding, error) {
	answer, err := t.client.Lookup(ctx, inq, "/transfers?reference="+url.QueryEscape(inq.IdempotencyKey()))
	if err != nil {
		return tools.Finding{}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(answer.Body, &list); err != nil || list == nil {
		return tools.Finding{}, tools.Unknown(errors.New("the answer is no list"))
	}
	if len(list) == 0 {
		return tools.Absent(), nil
	}
	var transfer struct{ ID string }
	if err := json.Unmarshal(list[0], &transfer); err != nil || transfer.ID == "" {
		return tools.Finding{}, tools.Unknown(errors.New("the transfer in the list has no id"))
	}
	return tools.Found(tools.Result{Body: list[0], EffectID: transfer.ID}).Times(len(list)), nil
}

// What a lookup finds is the answer that the lost one would have been.
func ExampleClient_Lookup() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("asked for", r.URL)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":"tr_1","amount":"12.90"}]`)
	}))
	defer provider.Close()
	client, err := effecthttp.New(effecthttp.Config{BaseURL: provider.URL})
	if err != nil {
		log.Print(err)
		return
	}
	found, err := Transfers{client}.Reconcile(context.Background(), invocation.NewInquiry(invocation.Question{
		Tool: "transfers.create", IdempotencyKey: "2f6c3d0e-6a55-8f7c-9d33-0f1b7a6f2c11", Deadline: time.Now().Add(time.Minute),
	}))
	fmt.Println(found.Found, found.Effects, found.Result.EffectID, string(found.Result.Body), err)
	// Output:
	// asked for /transfers?reference=2f6c3d0e-6a55-8f7c-9d33-0f1b7a6f2c11
	// true 1 tr_1 {"id":"tr_1","amount":"12.90"} <nil>
}
