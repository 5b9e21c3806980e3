package effecthttp

import (
	"net/http"
	"strings"
	"testing"

	"writ/intent"
)

// notMade fails unless a request was refused for good before anything was sent, in words that
// repeat nothing of it.
func notMade(t *testing.T, err error) {
	t.Helper()
	f := wantFailure(t, err, intent.NotApplied, "invalid_request")
	if !f.Final {
		t.Errorf("trying again cannot help: %+v", f)
	}
	if strings.Contains(f.Error(), "secret") || strings.Contains(f.Error(), "127.0.0.1") {
		t.Errorf("it repeats what it refuses: %v", f)
	}
}

func TestWhatNoHeaderCanCarryIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, ok)
	client := newClient(t, Config{BaseURL: server.URL})
	for name, req := range map[string]Request{
		"a key under no name":         {KeyHeader: "secret Header"},
		"a key under a broken name":   {KeyHeader: "secret\r\nX-Other"},
		"a reference under no name":   {ReferenceHeader: "secret\r\nb"},
		"a reference beside no key":   {ReferenceHeader: "secret:", KeyHeader: NoKey},
		"a content type of two lines": {ContentType: "secret\r\nX: y"},
		"an effect at no pointer":     {EffectID: "secret"},
		"an effect at a bad escape":   {EffectID: "/secret~2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req.Path = "/"
			_, err := client.Do(t.Context(), newInvocation(), req)
			notMade(t, err)
		})
	}
	t.Cleanup(func() {
		if n := len(seen.all()); n != 0 {
			t.Errorf("the server received %d requests", n)
		}
	})
}

func TestAKeyIsNotSentWhereItWouldBeLostOrMeanSomethingElse(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, ok)
	client := newClient(t, Config{BaseURL: server.URL})
	for _, header := range []string{
		"Host", "host", "Content-Length", "Transfer-Encoding", "transfer-encoding", "Trailer", "Connection", "Keep-Alive",
		"Proxy-Connection", "Proxy-Authorization", "TE", "Upgrade", "Expect", "Content-Type", "User-Agent", "Authorization",
		"traceparent",
	} {
		_, err := client.Do(t.Context(), newInvocation(), Request{Path: "/", KeyHeader: header})
		notMade(t, err)
		_, err = client.Do(t.Context(), newInvocation(), Request{Path: "/", KeyHeader: NoKey, ReferenceHeader: header})
		notMade(t, err)
	}
	if n := len(seen.all()); n != 0 {
		t.Errorf("the server received %d requests", n)
	}
}

func TestAPathThatIsNoneIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	server, seen := serve(t, ok)
	client := newClient(t, Config{BaseURL: server.URL})
	for _, path := range []string{"", "secret", "/%zz?token=secret", "/a\r\nsecret", "/a\x00?secret", "/payments/4711#secret", "/?secret#"} {
		_, err := client.Do(t.Context(), newInvocation(), Request{Path: path})
		notMade(t, err)
		_, err = client.Lookup(t.Context(), newInquiry(), path)
		if f := failureOf(t, err); f.Outcome != intent.Unknown || f.Code != "invalid_request" || strings.Contains(f.Error(), "secret") || strings.Contains(f.Error(), "127.0.0.1") {
			t.Errorf("a lookup on %q: %v", path, f)
		}
	}
	if n := len(seen.all()); n != 0 {
		t.Errorf("the server received %d requests", n)
	}
}

func TestAHeaderThatCouldNotBeSentIsRefusedWhenTheClientIsMade(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"no name":                  {"": {"secret"}},
		"a name with a space":      {"X secret": {"a"}},
		"a value of two lines":     {"Authorization": {"Bearer secret\r\nX: y"}},
		"a second value":           {"X-Version": {"1", "secret\x00"}},
		"the provider's name":      {"Host": {"secret.example.com"}},
		"a length":                 {"content-length": {"1"}},
		"an encoding of transfers": {"Transfer-Encoding": {"chunked"}},
		"a trailer":                {"Trailer": {"X-Sum"}},
	} {
		if _, err := New(Config{BaseURL: "http://provider", Header: header}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Config{BaseURL: "http://provider", Header: http.Header{"Authorization": {"Bearer x"}, "api-version": {"2026-01-01"}}}); err != nil {
		t.Errorf("a header that can be sent: %v", err)
	}
}
