package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/intent"
)

func TestAWholeRequestIsTakenFromItsJSON(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	store.ended(t, proposal("order-1", "ada"), answered(intent.Applied))
	request := `{"tool":"payments.capture","request_key":"order-1","principal":"ada","payload":null}`
	file := filepath.Join(t.TempDir(), "request.json")
	if err := os.WriteFile(file, []byte(request), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, argument := range []string{request, "@" + file, "-"} {
		r := commandWithInput(t, request, "execute", "--request", argument, "--database-url", store.url, "-o", "json")
		var f failure
		r.document(t, &f)
		if r.status != 0 || f.Intent.RequestKey != "order-1" {
			t.Errorf("%s: status %d, %s%s", argument, r.status, r.stdout, r.stderr)
		}
	}
	other := strings.Replace(request, `"ada"`, `"mallory"`, 1)
	if r := command(t, "execute", "--request", other, "--database-url", store.url); r.status != 7 {
		t.Errorf("as another principal: status %d, %s", r.status, r.stderr)
	}
}

func TestARequestThatIsNotExactExits2AndNamesItsByte(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]struct {
		code   string
		offset int64
	}{
		`{"Tool":"echo"}`:                         {"unknown_member", 1},
		`{"tool":"echo","tool":"echo"}`:           {"duplicate_member", 15},
		`{"tool":"echo","payload":{"a":1,"a":2}}`: {"duplicate_member", 32},
		`{"tool":"echo","request_key":""}`:        {"invalid_request_key", 30},
		`["echo"]`:                                {"invalid_request", 0},
		``:                                        {"invalid_json", 0},
	} {
		r := command(t, "execute", "--request", request, "-o", "json", "--database-url", nowhere)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != want.code || f.Error.Offset == nil || *f.Error.Offset != want.offset || f.Error.Effect != "not_applied" {
			t.Errorf("%s: status %d, %+v", request, r.status, f.Error)
		}
		if strings.Contains(r.stderr, "request key writ:") {
			t.Errorf("%s: a key was minted: %s", request, r.stderr)
		}
	}
}

func TestARequestIsNotMixedWithItsParts(t *testing.T) {
	t.Parallel()
	for _, extra := range [][]string{{"echo"}, {"--payload", "{}"}, {"--key", "k"}, {"--tenant", "acme"}, {"--principal", "ada"}} {
		r := command(t, append([]string{"execute", "--request", `{"tool":"echo"}`, "--database-url", nowhere}, extra...)...)
		if r.status != 2 || !strings.Contains(r.stderr, "--request says everything") {
			t.Errorf("%q: status %d, %s", extra, r.status, r.stderr)
		}
	}
}

// The defaults are those of the flags, and a minted key is shown as the request would say it.
func TestARequestWithoutAKeyShowsTheMintedOneAsItsMember(t *testing.T) {
	t.Parallel()
	r := command(t, "execute", "--request", `{"tool":"echo"}`, "-o", "json", "--database-url", nowhere)
	var f failure
	r.document(t, &f)
	if r.status != 1 || f.Error.Code != "database_unavailable" {
		t.Fatalf("status %d, %+v", r.status, f.Error)
	}
	if want := `with "request_key":"` + f.Intent.RequestKey + `" in the request`; !strings.Contains(r.stderr, want) {
		t.Errorf("standard error does not say %s: %s", want, r.stderr)
	}
}

func TestARequestThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	var source endless
	_, err := wholeRequest(intent.MaxPayload).read(t.Context(), "-", &source)
	if intent.CodeOf(err) != intent.CodePayloadTooLarge || source.read > 2*intent.MaxPayload {
		t.Errorf("%d bytes were read: %v", source.read, err)
	}
}

func TestAKeyIsQuotedAsJSON(t *testing.T) {
	t.Parallel()
	if got := quoted(`a "b" \c`); got != `"a \"b\" \\c"` {
		t.Errorf("%s", got)
	}
}
