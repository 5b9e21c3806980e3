package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"

	"writ/internal/loopback"
)

// UI is Temporal's running web UI.
type UI struct {
	server *server.Server
	url    string
	ended  chan struct{}
}

// StartUI starts the web UI for the Temporal at the address, and returns when
// it answers. The error is a [*loopback.PortError] when the port is taken.
// After an error nothing runs.
func StartUI(ctx context.Context, temporalAddress, namespace string, port int) (*UI, error) {
	if err := loopback.Claim(port); err != nil {
		return nil, err
	}
	configuration := &config.Config{
		TemporalGRPCAddress: temporalAddress,
		Host:                "127.0.0.1",
		Port:                port,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		// Without this the UI's cookie is for HTTPS only, and some browsers
		// don't take the loopback interface for secure.
		CORS: config.CORS{CookieInsecure: true},
	}
	ui := &UI{
		server: server.NewServer(server_options.WithConfigProvider(configuration)),
		url:    "http://" + loopback.Address(port),
		ended:  make(chan struct{}),
	}
	go func() {
		defer close(ui.ended)
		_ = ui.server.Start() // ends the process when it cannot listen, and returns nil otherwise
	}()
	if err := ui.awaitAnswer(ctx); err != nil {
		ui.Stop()
		return nil, fmt.Errorf("wait for Temporal's web UI: %w", err)
	}
	return ui, nil
}

// URL returns where a browser finds the UI.
func (u *UI) URL() string { return u.url }

// Stop ends the UI.
func (u *UI) Stop() {
	u.server.Stop()
	<-u.ended
}

func (u *UI) awaitAnswer(ctx context.Context) error {
	var last error
	for {
		if last = u.ask(ctx); last == nil {
			return nil
		}
		select {
		case <-time.After(pollInterval):
		case <-u.ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		}
	}
}

func (u *UI) ask(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.url+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the UI answers %s", response.Status)
	}
	return nil
}
