package effecthttp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	return tools.Result{MediaType: mediaType, Body: r.Body}, nil
}

// CodeKeyInUse is the code of a 409 that speaks of an earlier request with the same key
// that is still being processed.
const CodeKeyInUse = "idempotency_key_in_use"

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
func (c *Client) answer(resp *http.Response) (Response, error) {
	if resp.StatusCode < 200 {
		// 101, to a question that was not asked. Its body is the open connection.
		return Response{}, tools.Unknown(errors.New(resp.Status)).WithCode(statusCode(resp.StatusCode))
	}
	body, whole := readBody(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return Response{Status: resp.StatusCode, Header: resp.Header, Body: body, Truncated: !whole}, nil
	}
	said := parseProblem(body)
	err := errors.New(resp.Status)
	if said.Message != "" {
		err = fmt.Errorf("%s: %s", resp.Status, said.Message)
	}
	ownCode := cmp.Or(said.Code, statusCode(resp.StatusCode))
	wait := c.retryAfter(resp.Header)
	switch status := resp.StatusCode; {
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		return Response{}, tools.NotApplied(err).WithCode(ownCode).After(wait)
	case status == http.StatusConflict && said.Code == CodeKeyInUse:
		return Response{}, tools.NotApplied(err).WithCode(CodeKeyInUse).AsInProgress().After(cmp.Or(wait, defaultInProgressWait))
	case status >= 400 && status <= 499:
		return Response{}, tools.NotApplied(err).WithCode(ownCode).AsFinal()
	case status >= 300 && status <= 399:
		return Response{}, tools.Unknown(err).WithCode(codeRedirected)
	default:
		// The provider's own code is left out: "http_500" says that nobody knows, whatever
		// the body claims.
		return Response{}, tools.Unknown(err).WithCode(statusCode(resp.StatusCode)).After(wait)
	}
}

// statusCode is the code of a refusal whose body names none.
func statusCode(status int) string { return "http_" + strconv.Itoa(status) }

// problem is what a refusal's body says, with empty members for what it does not.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
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
