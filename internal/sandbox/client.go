package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client reads a running provider's books, sets its faults and waits for what it sees. It is for tests and
// demonstrations: it sends no effects.
type Client struct {
	url  string
	http *http.Client
}

// Refusal is the provider's answer to a request that it did not fulfil.
type Refusal struct {
	Status  int
	Code    string // one of the Code… constants
	Message string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("sandbox: %d %s: %s", r.Status, r.Code, r.Message)
}

// NewClient returns a client of the provider at url, such as "http://127.0.0.1:7766".
func NewClient(url string) *Client {
	return &Client{url: strings.TrimRight(url, "/"), http: &http.Client{}}
}

// Ledger returns every performed effect, oldest first.
func (c *Client) Ledger(ctx context.Context) ([]Entry, error) {
	return ask[[]Entry](ctx, c, http.MethodGet, "/ledger", nil)
}

// Effects returns the effects that were performed under a key, none if there are none so far.
func (c *Client) Effects(ctx context.Context, key string) ([]Entry, error) {
	entries, err := ask[[]Entry](ctx, c, http.MethodGet, "/v1/effects?key="+url.QueryEscape(key), nil)
	if refusal := new(Refusal); errors.As(err, &refusal) && refusal.Code == CodeEffectNotFound {
		return nil, nil
	}
	return entries, err
}

// Transfers returns the transfers with a reference, none if there are none so far.
func (c *Client) Transfers(ctx context.Context, reference string) ([]Entry, error) {
	return ask[[]Entry](ctx, c, http.MethodGet, "/v1/transfers?reference="+url.QueryEscape(reference), nil)
}

// AddFault sets a rule and returns it with its id and defaults.
func (c *Client) AddFault(ctx context.Context, f Fault) (Fault, error) {
	return ask[Fault](ctx, c, http.MethodPost, "/admin/faults", f)
}

// Faults returns the rules with their counts.
func (c *Client) Faults(ctx context.Context) ([]Fault, error) {
	return ask[[]Fault](ctx, c, http.MethodGet, "/admin/faults", nil)
}

// RemoveFault deletes a rule, or every rule if id is empty.
func (c *Client) RemoveFault(ctx context.Context, id string) error {
	path := "/admin/faults"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	_, err := ask[json.RawMessage](ctx, c, http.MethodDelete, path, nil)
	return err
}

// Release lets the hanging and the late requests with a key or reference go on, or all of them if key is empty, and returns how many there were.
func (c *Client) Release(ctx context.Context, key string) (int, error) {
	answer, err := ask[releaseAnswer](ctx, c, http.MethodPost, "/admin/release", keyRequest{Key: key})
	return answer.Released, err
}

// Forget makes the provider forget a key, or all of them if key is empty, and returns how many it had remembered.
func (c *Client) Forget(ctx context.Context, key string) (int, error) {
	answer, err := ask[forgetAnswer](ctx, c, http.MethodPost, "/admin/forget", keyRequest{Key: key})
	return answer.Forgotten, err
}

// Settings returns what the provider is set to.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	return ask[Settings](ctx, c, http.MethodGet, "/admin/settings", nil)
}

// ChangeSettings sets both settings; an empty KeyWindow is for ever.
func (c *Client) ChangeSettings(ctx context.Context, s Settings) (Settings, error) {
	if s.KeyWindow == "" {
		s.KeyWindow = "0s"
	}
	return ask[Settings](ctx, c, http.MethodPost, "/admin/settings", s)
}

// Requests returns the newest requests that match, oldest first.
func (c *Client) Requests(ctx context.Context, f RequestFilter) ([]Request, error) {
	return ask[[]Request](ctx, c, http.MethodGet, "/requests?"+f.query().Encode(), nil)
}

// AwaitRequests returns the matching requests as soon as the provider has seen count of them. It fails with
// [CodeNotSeen] if that takes longer than wait, at most one minute.
func (c *Client) AwaitRequests(ctx context.Context, f RequestFilter, count int, wait time.Duration) ([]Request, error) {
	query := f.query()
	query.Set("count", strconv.Itoa(count))
	query.Set("wait", wait.String())
	return ask[[]Request](ctx, c, http.MethodGet, "/requests?"+query.Encode(), nil)
}

func (f RequestFilter) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"key": f.Key, "endpoint": f.Endpoint, "state": f.State} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// ask sends one request and decodes its answer.
func ask[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var result T
	answer, err := c.do(ctx, method, path, body)
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return result, fmt.Errorf("sandbox: decode the provider's answer: %w", err)
	}
	return result, nil
}

// do sends one request and returns the body of a good answer.
func (c *Client) do(ctx context.Context, method, path string, body any) ([]byte, error) {
	var sent io.Reader
	if body != nil {
		encoded, err := marshal(body)
		if err != nil {
			return nil, fmt.Errorf("sandbox: encode a request: %w", err)
		}
		sent = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, sent)
	if err != nil {
		return nil, fmt.Errorf("sandbox: make a request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("sandbox: ask the provider: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("sandbox: read the provider's answer: %w", err)
	}
	if resp.StatusCode >= 300 {
		var p problemBody
		if err := json.Unmarshal(answer, &p); err != nil || p.Error.Code == "" {
			return nil, fmt.Errorf("sandbox: the provider answered %s", resp.Status)
		}
		return nil, &Refusal{Status: resp.StatusCode, Code: p.Error.Code, Message: p.Error.Message}
	}
	return answer, nil
}
