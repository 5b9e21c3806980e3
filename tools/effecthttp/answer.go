package effecthttp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/jsonpointer"
	"writ/tools"
)

// Response is a provider's 2xx answer.
type Response struct {
	Status int
	Header http.Header
	// Body holds at most [MaxBody] bytes.
	Body []byte
	// Truncated says that Body is not all of the answer: it broke off, or was longer.
	Truncated bool
	// EffectID is the provider's own name of the effect, if the answer has it where
	// [Request.EffectID] says.
	EffectID string
}

// Result returns the answer as the tool's result. What is not what it says it is (JSON
// that does not parse, a part of something) is kept as binary.
func (r Response) Result() (tools.Result, error) {
	mediaType := cmp.Or(r.Header.Get("Content-Type"), tools.MediaTypeBinary)
	plain, _, err := mime.ParseMediaType(mediaType)
	isJSON := plain == tools.MediaTypeJSON || strings.HasSuffix(plain, "+json")
	if err != nil || r.Truncated || isJSON && !(json.Valid(r.Body) && utf8.Valid(r.Body)) {
		mediaType = tools.MediaTypeBinary
	}
	return tools.Result{MediaType: mediaType, Body: r.Body, Broken: r.Truncated, EffectID: r.EffectID}, nil
}

// CodeKeyInUse is the code of a 409 that speaks of an earlier request with the same key
// that is still being processed.
const CodeKeyInUse = "idempotency_key_in_use"

// replayedHeader marks an answer that the provider had stored for the key. It is Stripe's
// header (https://docs.stripe.com/error-low-level#idempotency), which others took over.
const replayedHeader = "Idempotent-Replayed"

// codeRedirected is the code of a redirect, which is not followed.
const codeRedirected = "redirected"

const (
	defaultInProgressWait = time.Second
	// maxRetryAfter bounds a provider's wish against nonsense.
	maxRetryAfter = 365 * 24 * time.Hour
	// maxMessage is how much of a provider's message is repeated, in bytes.
	maxMessage = 500
)

// answer turns an HTTP answer into a response or a failure.
func (c *Client) answer(resp *http.Response, req Request) (Response, error) {
	if resp.StatusCode < 200 {
		// 101, to a question that was not asked. Its body is the open connection.
		return Response{}, tools.Unknown(errors.New(resp.Status)).WithCode(statusCode(resp.StatusCode))
	}
	body, whole := readBody(resp)
	if resp.StatusCode <= 299 {
		return Response{
			Status: resp.StatusCode, Header: resp.Header, Body: body, Truncated: !whole,
			EffectID: jsonpointer.Text(body, req.EffectID),
		}, nil
	}
	f := c.failure(resp, parseProblem(body), req)
	if resp.Header.Get(replayedHeader) == "true" {
		f = f.AsStored()
	}
	return Response{}, f
}

// failure says what an answer that is no success shows. Where the outcome is unknown, the
// provider's own code is left out: "http_500" says that nobody knows, whatever the body claims.
func (c *Client) failure(resp *http.Response, said problem, req Request) *tools.Failure {
	status, err, wait := resp.StatusCode, said.text(resp.Status), c.retryAfter(resp.Header)
	byStatus := statusCode(status)
	code := cmp.Or(said.Code, byStatus)
	switch {
	case status <= 399:
		return tools.Unknown(err).WithCode(codeRedirected)
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		return tools.NotApplied(err).WithCode(code).After(wait)
	case status == http.StatusConflict && (code == CodeKeyInUse || slices.Contains(req.InProgress, code)):
		return tools.NotApplied(err).WithCode(code).AsInProgress().After(cmp.Or(wait, defaultInProgressWait))
	case status <= 499 && (slices.Contains(req.Already, code) || slices.Contains(req.Already, byStatus)):
		return tools.NotApplied(err).WithCode(code).AsFinal().AsAlready()
	case status <= 499:
		return tools.NotApplied(err).WithCode(code).AsFinal()
	default:
		return tools.Unknown(err).WithCode(byStatus).After(wait)
	}
}

// statusCode is the code of a refusal whose body names none.
func statusCode(status int) string { return "http_" + strconv.Itoa(status) }

// problem is what a refusal's body says, with empty members for what it does not.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// text is what a person is told of a refusal.
func (p problem) text(status string) error {
	if p.Message == "" {
		return errors.New(status)
	}
	return fmt.Errorf("%s: %s", status, p.Message)
}

var plainCode = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// parseProblem reads {"error":{"code":"...","message":"..."}}. Nothing else of a body is
// repeated: it may be a page of HTML.
func parseProblem(body []byte) problem {
	var parsed struct {
		Error json.RawMessage `json:"error"`
	}
	var said problem
	if json.Unmarshal(body, &parsed) != nil || json.Unmarshal(parsed.Error, &said) != nil {
		return problem{}
	}
	if !plainCode.MatchString(said.Code) {
		said.Code = ""
	}
	if len(said.Message) > maxMessage {
		said.Message = said.Message[:maxMessage]
	}
	said.Message = strings.ToValidUTF8(said.Message, "")
	return said
}

// retryAfter reads Retry-After, which is a number of seconds or a date (RFC 9110, section
// 10.2.3). Zero means that there is none that can be used.
func (c *Client) retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(c.now()), 0), maxRetryAfter)
}
