package effecthttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"writ/tools"
)

// codePartialAnswer is the code of a lookup whose answer is not whole.
const codePartialAnswer = "partial_answer"

// errPartialAnswer is why an answer that is not whole says nothing: what is missing may be
// the effect.
var errPartialAnswer = errors.New("the answer broke off or is too long")

// Lookup asks with GET what became of the effect of an inquiry, and returns the provider's
// whole 2xx answer. The path is put after the base URL; it starts with "/" and usually has
// the inquiry's key in its query. No key, no effect and no body is sent, and no redirect is
// followed. Lookup ends with ctx and at the inquiry's deadline.
//
// Every other answer, and none, is a *[tools.Failure] with outcome unknown: it says nothing
// of the effect. Its code is the provider's own where a 4xx has one, so that a tool knows
// the one that means "there is none"; a bare http_404 may come from a wrong path and must
// not be taken for that.
func (c *Client) Lookup(ctx context.Context, inq tools.Inquiry, path string) (Response, error) {
	if deadline := inq.Deadline(); !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	asked, err := c.newRequest(ctx, http.MethodGet, path)
	if err != nil {
		return Response{}, tools.Unknown(fmt.Errorf("make the lookup: %w", err)).WithCode(codeInvalidRequest)
	}
	// RoundTrip and not http.Client: it neither follows redirects nor keeps cookies.
	resp, err := c.via.asking.RoundTrip(asked)
	if err != nil {
		return Response{}, tools.Unknown(fmt.Errorf("GET %s: %w", asked.URL.Path, err)).WithCode(unansweredCode(err))
	}
	defer resp.Body.Close()
	return c.lookedUp(resp)
}

// lookedUp turns the answer to a lookup into a response, or says why it tells nothing.
func (c *Client) lookedUp(resp *http.Response) (Response, error) {
	if resp.StatusCode < 200 {
		return Response{}, tools.Unknown(errors.New(resp.Status)).WithCode(statusCode(resp.StatusCode))
	}
	body, whole := readBody(resp)
	unclear := func(err error, code string) (Response, error) {
		return Response{}, tools.Unknown(err).WithCode(code).After(c.retryAfter(resp.Header))
	}
	switch status := resp.StatusCode; {
	case status <= 299 && whole:
		return Response{Status: status, Header: resp.Header, Body: body}, nil
	case status <= 299:
		return unclear(errPartialAnswer, codePartialAnswer)
	case status <= 399:
		return unclear(errors.New(resp.Status), codeRedirected)
	case status <= 499:
		said := parseProblem(body)
		return unclear(said.text(resp.Status), cmp.Or(said.Code, statusCode(status)))
	default:
		return unclear(parseProblem(body).text(resp.Status), statusCode(status))
	}
}

// unansweredCode names why a lookup was not answered.
func unansweredCode(err error) string {
	if code := connectCode(err); code != codeConnectionFailed {
		return code
	}
	return lostCode(err)
}
