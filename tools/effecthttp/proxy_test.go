package effecthttp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"writ/intent"
)

func via(t *testing.T, proxy *httptest.Server) *http.Transport {
	t.Helper()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Transport{Proxy: http.ProxyURL(address)}
}

func TestAProxyThatGivesNoTunnelMeansNotSent(t *testing.T) {
	t.Parallel()
	seen := new(counter)
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen.add(r); ok(w, r) }))
	t.Cleanup(provider.Close)
	proxy, asked := serve(t, refusing(http.StatusForbidden, ""))
	transport := via(t, proxy)
	transport.TLSClientConfig = trust(provider)
	_, err := do(t, newClient(t, Config{BaseURL: provider.URL, Transport: transport}), newInvocation())
	wantFailure(t, err, intent.NotApplied, codeConnectionFailed)
	if len(seen.all()) != 0 || len(asked.all()) != 1 || asked.all()[0].Method != http.MethodConnect {
		t.Errorf("the proxy received %d requests, the provider %d", len(asked.all()), len(seen.all()))
	}
}

func TestThroughAProxyOneRequestArrives(t *testing.T) {
	t.Parallel()
	provider, seen := serve(t, ok)
	target, err := url.Parse(provider.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	proxy, _ := serve(t, forward.ServeHTTP)
	client := newClient(t, Config{BaseURL: provider.URL, Transport: via(t, proxy)})
	t.Cleanup(client.via.reusing.CloseIdleConnections)
	for n := 1; n <= 3; n++ {
		if _, err := do(t, client, newInvocation()); err != nil {
			t.Fatal(err)
		}
		if got := len(seen.all()); got != n || seen.all()[n-1].Header.Get(DefaultKeyHeader) != testKey {
			t.Errorf("after %d effects %d requests arrived", n, got)
		}
	}
}

func TestAProxyThatFailsAfterItTookTheRequestLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	proxy, asked := serve(t, refusing(http.StatusBadGateway, ""))
	_, err := do(t, newClient(t, Config{BaseURL: "http://provider.invalid", Transport: via(t, proxy)}), newInvocation())
	wantFailure(t, err, intent.Unknown, "http_502")
	if len(asked.all()) != 1 {
		t.Errorf("the proxy received %d requests", len(asked.all()))
	}
}

func TestARequestThatWaitsForAContinueIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		code    string // empty for a success
	}{
		"the server wants the body": {func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != string(post.Body) {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			ok(w, r)
		}, ""},
		"the server does not want it": {refusing(http.StatusExpectationFailed, ""), "http_417"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, seen := serve(t, c.handler)
			client := newClient(t, Config{BaseURL: server.URL, Header: http.Header{"Expect": {"100-continue"}}})
			_, err := do(t, client, newInvocation())
			switch {
			case c.code != "":
				wantFailure(t, err, intent.NotApplied, c.code)
			case err != nil:
				t.Error(err)
			}
			if len(seen.all()) != 1 {
				t.Errorf("the server received %d requests", len(seen.all()))
			}
		})
	}
}
