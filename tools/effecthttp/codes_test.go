package effecthttp

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"writ/tools"
)

// rowOf returns the row that describes a code: its own, or that of its family.
func rowOf(t *testing.T, code string) tools.AttemptCode {
	t.Helper()
	family := code
	if digits, ok := strings.CutPrefix(code, "http_"); ok {
		family = "http_" + string(min(digits[0], '5')) + "xx" // HTTP defines no statuses over 599
	}
	for _, name := range []string{code, family} {
		rows := slices.Concat(AttemptCodes(), tools.AttemptCodes())
		if at := slices.IndexFunc(rows, func(r tools.AttemptCode) bool { return r.Code == name }); at >= 0 {
			return rows[at]
		}
	}
	t.Fatalf("no row describes %s", code)
	return tools.AttemptCode{}
}

// wantRow fails the test if docs/errors.md says something else than the failure.
func wantRow(t *testing.T, f *tools.Failure) {
	t.Helper()
	if row := rowOf(t, f.Code); row.Outcome != f.Outcome || row.Final != f.Final || row.InProgress != f.InProgress {
		t.Errorf("the failure is %+v and its row %+v", f, row)
	}
}

func TestTheTableOfCodesSaysWhatEveryStatusIsTakenFor(t *testing.T) {
	t.Parallel()
	client := newClient(t, Config{BaseURL: "http://provider.invalid"})
	for status := 100; status <= 999; status++ {
		if status >= 200 && status <= 299 {
			continue
		}
		resp := &http.Response{StatusCode: status, Status: strconv.Itoa(status), Body: http.NoBody}
		_, err := client.answer(resp, Request{})
		wantRow(t, failureOf(t, err))
	}
	resp := &http.Response{StatusCode: http.StatusConflict, Body: io.NopCloser(strings.NewReader(`{"error":{"code":"idempotency_key_in_use"}}`))}
	_, err := client.answer(resp, Request{})
	wantRow(t, failureOf(t, err))
}
