package effecthttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"golang.org/x/net/http/httpguts"

	"writ/internal/jsonpointer"
	"writ/tools"
)

// What cannot be sent is found while a request is made. Left to the transport, it would look
// like a provider that does not answer. No error here repeats what it refuses: paths, queries
// and header values come from payloads and hold credentials.

// build makes the request and chooses its transport.
func (c *Client) build(ctx context.Context, inv tools.Invocation, req Request, body *countedBody) (*http.Request, *http.Transport, error) {
	if err := req.check(); err != nil {
		return nil, nil, err
	}
	sent, err := c.newRequest(ctx, cmp.Or(req.Method, http.MethodPost), req.Path)
	if err != nil {
		return nil, nil, err
	}
	if len(req.Body) > 0 {
		sent.Body, sent.ContentLength = body, int64(len(req.Body))
	}
	// net/http's Transport sends a request again when a reused connection breaks, if it can
	// rewind the body and the method is idempotent or there is an Idempotency-Key header
	// (Request.isReplayable, https://go.dev/issue/19943). There is no GetBody here, so it
	// cannot; for a request without a body the permit refuses the second write.
	sent.Header.Set("Content-Type", cmp.Or(req.ContentType, "application/json"))
	return c.withKey(sent, inv.IdempotencyKey(), req)
}

// newRequest makes what effects and lookups have in common.
func (c *Client) newRequest(ctx context.Context, method, path string) (*http.Request, error) {
	target := c.base.String() + path
	switch _, err := url.Parse(target); {
	case !strings.HasPrefix(path, "/"):
		return nil, errors.New("the path does not start with /")
	case strings.Contains(path, "#"):
		return nil, errors.New("the path has a #, and what follows it is never sent; escape what comes from outside, with url.PathEscape or url.QueryEscape")
	case err != nil:
		return nil, errors.New("the path cannot be parsed; escape what comes from outside, with url.PathEscape or url.QueryEscape")
	}
	made, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return nil, errors.New("the method is no method of HTTP")
	}
	for name, values := range c.header {
		made.Header[http.CanonicalHeaderKey(name)] = values
	}
	made.Header.Set("User-Agent", userAgent)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(made.Header))
	return made, nil
}

// withKey puts the key where the request wants it.
func (c *Client) withKey(sent *http.Request, key string, req Request) (*http.Request, *http.Transport, error) {
	keyHeader := cmp.Or(req.KeyHeader, DefaultKeyHeader)
	switch {
	case keyHeader == NoKey && req.ReferenceHeader == "":
		return sent, c.via.fresh, nil
	case key == "":
		return nil, nil, errors.New("the invocation has no idempotency key")
	case !httpguts.ValidHeaderFieldValue(key):
		return nil, nil, errors.New("the idempotency key cannot stand in a header")
	}
	if req.ReferenceHeader != "" {
		sent.Header.Set(req.ReferenceHeader, key)
	}
	if keyHeader == NoKey {
		return sent, c.via.fresh, nil
	}
	sent.Header.Set(keyHeader, key)
	return sent, c.via.reusing, nil
}

// check says what of the request could not be sent, or would be sent and not understood.
func (r Request) check() error {
	if r.KeyHeader != "" && r.KeyHeader != NoKey {
		if err := checkKeyHeader(r.KeyHeader); err != nil {
			return fmt.Errorf("KeyHeader %w", err)
		}
	}
	if r.ReferenceHeader != "" {
		if err := checkKeyHeader(r.ReferenceHeader); err != nil {
			return fmt.Errorf("ReferenceHeader %w", err)
		}
	}
	if !httpguts.ValidHeaderFieldValue(r.ContentType) {
		return errors.New("ContentType cannot stand in a header")
	}
	if r.EffectID == "" {
		return nil
	}
	if err := jsonpointer.Check(r.EffectID); err != nil {
		return fmt.Errorf("EffectID: %w", err)
	}
	return nil
}
