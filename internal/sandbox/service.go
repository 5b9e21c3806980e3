package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// headerPatience is how long a client may take to send the head of a request.
	headerPatience = 10 * time.Second
	// answerPatience is how long the answers that are being sent may take after a stop.
	answerPatience = 5 * time.Second
)

// Service is a [Server] that listens. Its methods may be called at once from several goroutines.
type Service struct {
	provider *Server
	http     *http.Server
	failed   chan error
}

// Serve makes a provider as [New] does, with the same errors, and serves it on the listener until [Service.Stop]. It
// takes the listener over, also when it fails. Whoever connects after Serve has returned is answered.
func Serve(listener net.Listener, cfg Config) (*Service, error) {
	provider, err := New(cfg)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &Service{
		provider: provider,
		http: &http.Server{
			Handler:           provider.Handler(),
			ReadHeaderTimeout: headerPatience,
			ErrorLog:          slog.NewLogLogger(provider.log.Handler(), slog.LevelWarn),
		},
		failed: make(chan error, 1),
	}
	go func() {
		defer close(s.failed)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

// Failed receives why the service cannot go on listening, if that happens. It is closed when the service does not listen
// any more, for whatever reason.
func (s *Service) Failed() <-chan error { return s.failed }

// Stop closes the provider, as [Server.Close] does, and lets the answers that are being sent go out for at most five
// seconds, or until ctx ends. A client that does not read its answer cannot keep the service alive, and that is no error:
// every effect is on the disk by then. The error is one of the ledger. Calling it again does nothing.
func (s *Service) Stop(ctx context.Context) error {
	// The provider first: hanging requests and waits would otherwise keep the HTTP server from ending.
	err := s.provider.Close()
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	return err
}
