package integration

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"writ/intent"
	"writ/internal/otlptest"
	"writ/workflows"
)

// canaries are all of them, by what they stand for.
var canaries = map[string]string{
	"an argument": canaryArgument, "a secret argument": canarySecret, "a result": canaryResult,
	"a header of an answer": canaryHeader, "the body of a refusal": canaryBody, "a provider's message": canaryMessage,
	"the value of a panic": canaryPanic, "a credential": canaryAuthorization,
}

// startCanaryProvider starts a provider that says more than it should.
func startCanaryProvider(t testing.TB) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+canaryAuthorization {
			t.Error("the credential did not arrive")
		}
		w.Header().Set("Canary", canaryHeader)
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/ok":
			fmt.Fprintf(w, `{"said":%q}`, canaryResult)
		case "/refuse":
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"error":{"code":"declined","message":%q},"debug":%q}`, canaryMessage, canaryBody)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, `<html>%s</html>`, canaryBody)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// canaryCourses are the ends that an intent may have. The exit status says which one it had.
var canaryCourses = map[string]struct {
	tool, path, secret string
	status             int
}{
	"completed": {"canary.keyed", "/ok", "1234", 0},
	"failed":    {"canary.keyed", "/refuse", "", 4},
	"in doubt":  {"canary.opaque", "/fail", "", 5},
	"panicked":  {"canary.opaque", "/panic", "", 5},
	"rejected":  {"canary.keyed", "/ok", canarySecret, 2},
	"denied":    {"canary.keyed", "/ok", "", 3},
}

// places collects what was written where.
type places map[string][]byte

func (p places) add(place string, written []byte) { p[place] = append(p[place], written...) }

func TestNoSecretGetsOutOfItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings = []string{payloadKeys(oldKey)}
	collector, endpoint := otlptest.OverHTTP(t)
	exporting := "OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint
	forbidden := filepath.Join(t.TempDir(), "forbidden")
	worker := w.startHosted(t, exporting, canaryVariable+"="+startCanaryProvider(t), forbiddenVariable+"="+forbidden)

	elsewhere, answers, receipts := places{}, places{}, 0
	for _, course := range slices.Sorted(maps.Keys(canaryCourses)) {
		forbid(t, forbidden, course == "denied")
		caller := w.askCanary(t, course, "shop", exporting)
		got := caller.outcome(t)
		if got.status != canaryCourses[course].status {
			t.Errorf("%s: status %d, want %d: %s", course, got.status, canaryCourses[course].status, got.stdout)
		}
		answers.add("the answer to the caller", []byte(got.stdout))
		elsewhere.add("the log of the caller", caller.stderr.bytes())
		elsewhere.add("the receipt", got.Receipt)
		if len(got.Receipt) > 0 {
			receipts++
		}
		stranger := w.askCanary(t, course, "mallory", exporting)
		stranger.status(t)
		elsewhere.add("the answer to somebody else", []byte(stranger.transcript()))
		w.addHistory(t, elsewhere, course)
	}
	worker.stop(t) // sends the spans that it still has
	elsewhere.add("the log of the worker", []byte(worker.transcript()))
	elsewhere.add("the spans", collector.Bytes(t))

	if receipts < 3 || len(collector.Spans()) == 0 {
		t.Errorf("there were %d receipts and %d spans, too few to say anything", receipts, len(collector.Spans()))
	}
	for place, written := range elsewhere {
		for what, canary := range canaries {
			if indexOf(written, canary) >= 0 {
				t.Errorf("%s stands in %s: %s", what, place, around(written, canary))
			}
		}
	}
	w.checkAnswers(t, answers["the answer to the caller"])
}

// checkAnswers fails unless the caller was told what is its own, and nothing else.
func (w *world) checkAnswers(t *testing.T, answers []byte) {
	t.Helper()
	// A provider's message about an intent is its caller's, see package effecthttp.
	own := []string{canaryArgument, canaryResult, canaryMessage}
	for what, canary := range canaries {
		if got := indexOf(answers, canary) >= 0; got != slices.Contains(own, canary) {
			t.Errorf("%s stands in the answers to the caller: %v, %s", what, got, around(answers, canary))
		}
	}
}

func TestWithoutKeysWhatIsSentStandsInTheHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startHosted(t, canaryVariable+"="+startCanaryProvider(t))
	w.askCanary(t, "completed", "shop").outcome(t).completed(t)
	found := places{}
	w.addHistory(t, found, "completed")
	// The test above would find nothing either if it looked in the wrong place.
	for _, canary := range []string{canaryArgument, canaryResult} {
		if indexOf(found["the history"], canary) < 0 {
			t.Errorf("%s is not found in an open history", canary)
		}
	}
}

// forbid makes the hosted policy say no, or yes again.
func forbid(t testing.TB, file string, no bool) {
	t.Helper()
	err := os.RemoveAll(file)
	if no {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// askCanary asks for a course under a request key of its own, and logs everything.
func (w *world) askCanary(t testing.TB, course, principal string, environment ...string) *process {
	t.Helper()
	c := canaryCourses[course]
	payload, err := json.Marshal(canaryPayload{Path: c.path, Card: canaryArgument, Secret: c.secret})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, "writ execute", program("writ"), append(w.environment(), environment...), "execute", c.tool,
		"--payload", string(payload), "--key", canaryKey(course), "--tenant", w.name, "--principal", principal, "--log-level", "debug", "-o", "json")
}

func canaryKey(course string) string { return strings.ReplaceAll(course, " ", "-") }

// addHistory adds everything that Temporal tells of a course, in both forms.
func (w *world) addHistory(t testing.TB, found places, course string) {
	t.Helper()
	id := workflows.ID(intent.IntentID(w.name, intent.RequestKey(canaryKey(course))))
	found.add("the history", w.rawHistory(t, id))
	asJSON, err := protojson.Marshal(w.historyOf(t, id))
	if err != nil {
		t.Fatal(err)
	}
	found.add("the history as JSON", asJSON)
	described, err := w.stack.temporal(t).DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(described)
	if err != nil {
		t.Fatal(err)
	}
	found.add("the search attributes and the memo", raw)
}

// indexOf returns where a canary stands, as it is or in base64, which JSON makes of bytes; or -1.
func indexOf(written []byte, canary string) int {
	if at := bytes.Index(written, []byte(canary)); at >= 0 {
		return at
	}
	// What stands before it decides which of three forms it has. The characters at the ends
	// depend on its neighbours.
	for shift := range 3 {
		coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("_", shift) + canary))
		if at := bytes.Index(written, []byte(coded[4:len(coded)-4])); at >= 0 {
			return at
		}
	}
	return -1
}

// around shows where a canary was found.
func around(written []byte, canary string) string {
	at := indexOf(written, canary)
	if at < 0 {
		return "nowhere"
	}
	return fmt.Sprintf("%.300q", written[max(at-150, 0):])
}
