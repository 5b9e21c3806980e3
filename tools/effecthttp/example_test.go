package effecthttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"writ/internal/invocation"
	"writ/tools"
	"writ/tools/effecthttp"
)

// granted returns what the engine gives a tool for its first attempt.
func granted(payload string) tools.Invocation {
	return invocation.New(invocation.Fields{
		Tool: "payments.capture", Payload: []byte(payload), IdempotencyKey: "2f6c3d0e-6a55-8f7c-9d33-0f1b7a6f2c11",
		Attempt: 1, SendBy: time.Now().Add(time.Minute),
	})
}

// A tool hands its invocation to Do, which sends the key with the request, and returns
// what Do says: the error knows whether the payment may have been captured.
func ExampleClient_Do() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println("received", r.URL.Path, string(body), "with key", r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = io.WriteString(w, `{"error":{"code":"card_declined","message":"ask for another card"}}`)
	}))
	defer provider.Close()

	client, err := effecthttp.New(effecthttp.Config{
		BaseURL: provider.URL + "/v1",
		Header:  http.Header{"Authorization": {"Bearer test"}},
	})
	if err != nil {
		log.Print(err)
		return
	}
	capture := tools.New(tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true},
		func(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
			answer, err := client.Do(ctx, inv, effecthttp.Request{Path: "/captures", Body: inv.Payload()})
			if err != nil {
				return tools.Result{}, err
			}
			return answer.Result()
		})

	_, err = capture.Invoke(context.Background(), granted(`{"amount":"12.90"}`))
	var failure *tools.Failure
	if errors.As(err, &failure) {
		fmt.Println(failure.Outcome, failure.Code, "final:", failure.Final)
	}
	// Output:
	// received /v1/captures {"amount":"12.90"} with key 2f6c3d0e-6a55-8f7c-9d33-0f1b7a6f2c11
	// not_applied card_declined final: true
}
