package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"writ/internal/sandbox"
)

// collectEvery is how often the provider's log of requests is read: it keeps the newest
// 10,000 only.
const collectEvery = 20 * time.Second

// provider is the sandbox of the run, reached without a proxy.
type provider struct {
	url    string
	client *sandbox.Client

	mutex    sync.Mutex
	requests map[string]json.RawMessage // by id
	order    []string
}

func newProvider(url string) *provider {
	return &provider{url: url, client: sandbox.NewClient(url), requests: map[string]json.RawMessage{}}
}

// disturb sets a rule for that long.
func (p *provider) disturb(ctx context.Context, fault sandbox.Fault, lasts time.Duration) error {
	added, err := p.client.AddFault(ctx, fault)
	if err != nil {
		return fmt.Errorf("disturb the provider: %w", err)
	}
	wait(ctx, lasts)
	if err := p.client.RemoveFault(context.WithoutCancel(ctx), added.ID); err != nil {
		return fmt.Errorf("calm the provider: %w", err)
	}
	return nil
}

// heal removes every rule and lets go on what hangs or is late.
func (p *provider) heal(ctx context.Context) error {
	_, releaseErr := p.client.Release(ctx, "")
	return errors.Join(p.client.RemoveFault(ctx, ""), releaseErr)
}

// collect reads the log of requests into memory.
func (p *provider) collect(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/requests", nil)
	if err != nil {
		return fmt.Errorf("read the provider's requests: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("read the provider's requests: %w", err)
	}
	defer answer.Body.Close()
	var page []json.RawMessage
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return fmt.Errorf("read the provider's requests: %w", err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, raw := range page {
		var named struct{ ID string }
		if err := json.Unmarshal(raw, &named); err != nil || named.ID == "" {
			return fmt.Errorf("read the provider's requests: %s has no id: %w", raw, err)
		}
		if _, known := p.requests[named.ID]; !known {
			p.order = append(p.order, named.ID)
		}
		p.requests[named.ID] = raw
	}
	return nil
}

// write puts what was collected into a file, one request a line.
func (p *provider) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("keep the provider's requests: %w", err)
	}
	defer file.Close()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	output := bufio.NewWriter(file)
	for _, id := range p.order {
		output.Write(append(p.requests[id], '\n')) // Flush returns the error
	}
	if err := errors.Join(output.Flush(), file.Close()); err != nil {
		return fmt.Errorf("keep the provider's requests: %w", err)
	}
	return nil
}
