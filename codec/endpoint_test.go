package codec_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"writ/codec"
	"writ/intent"
)

const (
	page   = "http://127.0.0.1:8233"
	token  = "0123456789abcdef0123"
	token2 = "another-token-of-20-b"
)

// body is a request to open one sealed payload.
func body(t testing.TB, k codec.Keys) []byte {
	t.Helper()
	raw, err := protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{seal(t, k, plain())}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheEndpointOpensForWhoHasATokenAndForOnePageOnly(t *testing.T) {
	t.Parallel()
	k := keys(t, entry("a", 1))
	protected := codec.EndpointConfig{Keys: k, Origin: page, Tokens: []string{token, token2}}
	open := codec.EndpointConfig{Keys: k, Origin: page}
	closed := codec.EndpointConfig{Keys: k}
	for name, c := range map[string]struct {
		cfg                           codec.EndpointConfig
		method, path, origin, present string
		want                          int
	}{
		"a program with a token":        {protected, "POST", "/decode", "", "Bearer " + token, 200},
		"a program with the other one":  {protected, "POST", "/decode", "", "Bearer " + token2, 200},
		"the page with a token":         {protected, "POST", "/default/decode", page, "Bearer " + token, 200},
		"a scheme in small letters":     {protected, "POST", "/decode", "", "bearer " + token, 200},
		"no token":                      {protected, "POST", "/decode", page, "", 401},
		"an empty token":                {protected, "POST", "/decode", page, "Bearer ", 401},
		"another token":                 {protected, "POST", "/decode", page, "Bearer " + token + "4", 401},
		"the beginning of a token":      {protected, "POST", "/decode", page, "Bearer " + token[:19], 401},
		"a token of another scheme":     {protected, "POST", "/decode", page, "Basic " + token, 401},
		"another page with a token":     {protected, "POST", "/decode", "http://127.0.0.1:8234", "Bearer " + token, 403},
		"a page without an origin":      {protected, "POST", "/decode", "null", "Bearer " + token, 403},
		"the preflight of the page":     {protected, "OPTIONS", "/decode", page, "", 204},
		"the preflight of another page": {protected, "OPTIONS", "/decode", "https://evil.example", "", 403},
		"sealing":                       {protected, "POST", "/encode", page, "Bearer " + token, 404},
		"another path":                  {protected, "POST", "/", page, "Bearer " + token, 404},
		"another method":                {protected, "GET", "/decode", page, "Bearer " + token, 405},
		"the page where none is needed": {open, "POST", "/decode", page, "", 200},
		"another page there":            {open, "POST", "/decode", "https://evil.example", "", 403},
		"any page where none is set up": {closed, "POST", "/decode", page, "", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, err := codec.NewEndpoint(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(c.method, c.path, bytes.NewReader(body(t, k)))
			for header, value := range map[string]string{"Origin": c.origin, "Authorization": c.present} {
				if value != "" {
					request.Header.Set(header, value)
				}
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != c.want {
				t.Fatalf("status %d, want %d: %s", answer.Code, c.want, answer.Body)
			}
			if allowed := answer.Header().Get("Access-Control-Allow-Origin"); (allowed == page) != (c.origin == page && c.cfg.Origin == page) || allowed != "" && allowed != page {
				t.Errorf("%q may read the answer", allowed)
			}
			if c.want != http.StatusOK {
				if strings.Contains(answer.Body.String(), "CANARY") {
					t.Errorf("the refusal shows %s", answer.Body)
				}
				return
			}
			var opened commonpb.Payloads
			if err := protojson.Unmarshal(answer.Body.Bytes(), &opened); err != nil || len(opened.Payloads) != 1 || !proto.Equal(opened.Payloads[0], plain()) {
				t.Errorf("it answers %s, %v", answer.Body, err)
			}
		})
	}
}

func TestThePreflightAllowsTheHeadersThatTheTemporalUISends(t *testing.T) {
	t.Parallel()
	handler, err := codec.NewEndpoint(codec.EndpointConfig{Keys: keys(t, entry("a", 1)), Origin: page, Tokens: []string{token}})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodOptions, "/decode", nil)
	request.Header.Set("Origin", page)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	for _, header := range []string{"Authorization", "Content-Type", "X-Namespace"} {
		if !strings.Contains(answer.Header().Get("Access-Control-Allow-Headers"), header) {
			t.Errorf("%s is not allowed", header)
		}
	}
}

func TestTheEndpointSaysWhyAPayloadDoesNotOpen(t *testing.T) {
	t.Parallel()
	handler, err := codec.NewEndpoint(codec.EndpointConfig{Keys: keys(t, entry("a", 1))})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sent io.Reader
		want string
	}{
		"another key":         {bytes.NewReader(body(t, keys(t, entry("gone", 2)))), string(intent.CodePayloadKeyMissing)},
		"a request too large": {io.MultiReader(strings.NewReader(`{"payloads":[{"data":"`), bytes.NewReader(bytes.Repeat([]byte("A"), 33<<20))), "too large"},
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/decode", c.sent))
		if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), c.want) {
			t.Errorf("%s: status %d, %.200s", name, answer.Code, answer.Body)
		}
	}
}

func TestAnEndpointThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	k := keys(t, entry("a", 1))
	for name, cfg := range map[string]codec.EndpointConfig{
		"no keys":               {Origin: page},
		"an origin with a path": {Keys: k, Origin: page + "/"},
		"an origin of no host":  {Keys: k, Origin: "http://"},
		"every origin":          {Keys: k, Origin: "*"},
		"a host alone":          {Keys: k, Origin: "127.0.0.1:8233"},
		"another protocol":      {Keys: k, Origin: "ftp://127.0.0.1"},
		"a password":            {Keys: k, Origin: "https://ada:secret@127.0.0.1"},
		"a short token":         {Keys: k, Tokens: []string{token, "secret"}},
		"an empty token":        {Keys: k, Tokens: []string{""}},
	} {
		if _, err := codec.NewEndpoint(cfg); intent.CodeOf(err) != intent.CodeInvalidConfig || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
