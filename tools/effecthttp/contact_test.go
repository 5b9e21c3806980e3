package effecthttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"writ/intent"
	"writ/tools"
)

func TestAFailureSaysWhetherTheProviderAnswered(t *testing.T) {
	t.Parallel()
	unreachable := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route to host") }}
	nobody := func(t *testing.T) (*Client, tools.Invocation) {
		return newClient(t, Config{BaseURL: "http://127.0.0.1:1", Transport: unreachable}), newInvocation()
	}
	answering := func(status int) func(t *testing.T) (*Client, tools.Invocation) {
		return func(t *testing.T) (*Client, tools.Invocation) {
			server, _ := serve(t, refusing(status, ""))
			return newClient(t, Config{BaseURL: server.URL}), newInvocation()
		}
	}
	late := func(t *testing.T) (*Client, tools.Invocation) {
		client, _ := nobody(t)
		return client, invocationUntil(time.Now().Add(-time.Second))
	}
	for name, c := range map[string]struct {
		make func(*testing.T) (*Client, tools.Invocation)
		req  Request
		want intent.Contact
	}{
		"no connection":                 {nobody, post, intent.Unanswered},
		"a request that cannot be":      {nobody, Request{Path: "/", KeyHeader: "Host"}, intent.NoContact},
		"the time to send is over":      {late, post, intent.NoContact},
		"a refusal":                     {answering(http.StatusPaymentRequired), post, intent.Answered},
		"too many requests":             {answering(http.StatusTooManyRequests), post, intent.Answered},
		"a gateway without a provider":  {answering(http.StatusBadGateway), post, intent.Unanswered},
		"a provider that is overloaded": {answering(http.StatusServiceUnavailable), post, intent.Unanswered},
		"a provider that failed":        {answering(http.StatusInternalServerError), post, intent.Unanswered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, inv := c.make(t)
			_, err := client.Do(t.Context(), inv, c.req)
			if f := failureOf(t, err); f.Contact.Given(f.Outcome) != c.want {
				t.Errorf("%v: %s, want %s", f, f.Contact.Given(f.Outcome), c.want)
			}
		})
	}
}
