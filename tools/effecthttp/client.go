package effecthttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"writ/tools"
)

// DefaultKeyHeader carries the idempotency key unless a request names another header.
const DefaultKeyHeader = "Idempotency-Key"

// NoKey, as [Request.KeyHeader], sends no idempotency key.
const NoKey = "-"

// userAgent is what a provider sees in its logs.
const userAgent = "writ"

// MaxBody is how much of an answer is read, in bytes. What the engine keeps of it is the
// worker's MaxResult.
const MaxBody = 64 << 20

// Config says where a provider is and how to reach it.
type Config struct {
	// BaseURL is the provider's address, http or https, such as
	// "https://api.example.com/v2". Required.
	BaseURL string
	// Header is sent with every request: credentials, an API version. It must not hold what
	// follows from each request: Host, Content-Length, Transfer-Encoding, Trailer. Optional.
	Header http.Header
	// Transport holds proxies, certificates and timeouts. It is copied, restricted to
	// HTTP/1.1 and to the dialers that take a context. Optional.
	Transport *http.Transport
}

// Client sends effects to one provider. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	header http.Header
	via    transports
	now    func() time.Time
}

// New returns a client, or an error that says what is wrong with the configuration.
func New(cfg Config) (*Client, error) {
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("effecthttp: base URL: %w", err)
	}
	if err := checkHeader(cfg.Header); err != nil {
		return nil, fmt.Errorf("effecthttp: header: %w", err)
	}
	via, err := newTransports(cfg.Transport)
	if err != nil {
		return nil, fmt.Errorf("effecthttp: %w", err)
	}
	return &Client{base: base, header: cfg.Header.Clone(), via: via, now: time.Now}, nil
}

// parseBase returns the base URL, or an error that repeats nothing of it. Where a URL is
// broken nobody can tell which part is a password, so neither its redacted form nor the
// parser's reason, which quotes the part that it stumbled over, may be shown.
func parseBase(given string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(given, "/"))
	switch {
	case err != nil:
		return nil, errors.New("it cannot be parsed; want http://host or https://host")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, errors.New("want http://host or https://host")
	case base.User != nil:
		return nil, errors.New("it holds credentials; put them into Config.Header")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New("want no query and no fragment")
	}
	return base, nil
}

// Request is one effect as an HTTP request.
type Request struct {
	// Method is the HTTP method. Default POST.
	Method string
	// Path is put after the base URL. It starts with "/" and may have a query; what comes from
	// a payload must be escaped.
	Path string
	// Body is sent as it is.
	Body []byte
	// ContentType of Body. Default application/json.
	ContentType string
	// KeyHeader names the header that carries the idempotency key. Default
	// Idempotency-Key; [NoKey] for none. A header that means something else, or that is taken
	// away on the way, such as Host or Connection, is refused.
	KeyHeader string
	// ReferenceHeader names the header in which the idempotency key is sent as the client's
	// own name of the effect, to a provider that does not look at keys and can be asked by
	// that name. Default none.
	ReferenceHeader string
	// EffectID is where the answer names the effect, as a JSON Pointer (RFC 6901) such as
	// "/id" to text or a number; an answer that names none is an answer all the same. Default none. Two names under one key show that the effect
	// happened twice.
	EffectID string
	// InProgress lists the codes of a 409 that say that an earlier request with the key is
	// still being processed, besides [CodeKeyInUse].
	InProgress []string
	// Already lists the refusals that say that what was asked for is the case already: codes
	// of the provider such as "already_captured", and statuses such as "http_410". A status
	// stands for a refusal with or without a code; name "http_404" only if nothing else, such
	// as a wrong path, can answer with it.
	Already []string
}

// Do sends the request for the invocation, with its idempotency key byte for byte and the
// trace of ctx, and returns the provider's 2xx answer. Every error is a *[tools.Failure]; the package
// comment lists them. The caller bounds Do with ctx.
func (c *Client) Do(ctx context.Context, inv tools.Invocation, req Request) (Response, error) {
	p := &permit{sendBy: inv.SendBy(), now: c.now, body: newCountedBody(req.Body), key: inv.IdempotencyKey()}
	gate := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: p.attach})
	sent, via, err := c.build(gate, inv, req, p.body)
	if err != nil {
		return Response{}, tools.NotApplied(fmt.Errorf("make the request: %w", err)).WithCode(codeInvalidRequest).AsUncontacted().AsFinal()
	}
	if passed(c.now(), p.sendBy) { // spares the connection; what counts is the check at the first byte
		return Response{}, tools.NotApplied(errTooLate).WithCode(codeNotSent).AsUncontacted()
	}
	// RoundTrip and not http.Client: it neither follows redirects nor keeps cookies.
	resp, err := via.RoundTrip(sent)
	if err != nil {
		return Response{}, transportFailure(ctx, p, fmt.Errorf("%s %s: %w", sent.Method, sent.URL.Path, err))
	}
	defer resp.Body.Close()
	return c.answer(resp, req)
}

// readBody reads what is kept of an answer. whole is false if the body broke off or is
// longer than that.
func readBody(resp *http.Response) (body []byte, whole bool) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if len(body) > MaxBody {
		return body[:MaxBody], false
	}
	return body, err == nil
}
