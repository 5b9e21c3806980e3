package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/codec"
	"writ/intent"
)

// The variables that give the tokens of the codec endpoint; at most one of them, see codec.Setting.
const (
	codecTokensVariable     = "WRIT_CODEC_TOKENS"
	codecTokensFileVariable = codecTokensVariable + "_FILE"
)

// codecFlags are the flags of writ codec-server.
type codecFlags struct {
	listen       string
	origin       string
	withoutToken bool
}

func newCodecServerCommand(p *program) *cobra.Command {
	var f codecFlags
	cmd := &cobra.Command{
		Use:   "codec-server",
		Short: "Open sealed payloads for people who may read them in the Temporal UI",
		Long: `Answers POST /decode with what is sealed under $WRIT_PAYLOAD_KEYS, for the Temporal UI and the
temporal command line. It needs neither PostgreSQL nor Temporal, and seals nothing.

A request must have one of the tokens in $WRIT_CODEC_TOKENS (with commas), or in the file
$WRIT_CODEC_TOKENS_FILE (one to a line), as Authorization: Bearer. Of web pages only
--ui-origin may ask.

It says on standard error when it is ready, with -o json on standard output:
{"ready":true,"address":…}. SIGINT or SIGTERM: it answers what it was asked and leaves with 0.`,
		Example: `  writ codec-server --ui-origin https://temporal.example.com
  writ codec-server --ui-origin http://127.0.0.1:8233 --without-token`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Go takes an empty address for a free port of every interface.
			if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
				return err
			}
			return p.serveCodec(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8089", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&f.origin, "ui-origin", "", "`origin` of the Temporal UI, as https://temporal.example.com (default: no web page may ask)")
	flags.BoolVar(&f.withoutToken, "without-token", false, "open payloads for whoever reaches the address; only for one of this machine")
	return cmd
}

func (p *program) serveCodec(ctx context.Context, f codecFlags) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	tokens, err := codecTokens()
	if err != nil {
		return err
	}
	switch {
	case f.withoutToken && len(tokens) > 0:
		return usage("--without-token and tokens in the environment exclude each other")
	case f.withoutToken && !loopback(f.listen):
		return usage("--without-token is only for an address of this machine, such as 127.0.0.1:8089, not %q", f.listen)
	case !f.withoutToken && len(tokens) == 0:
		return intent.Errorf(intent.CodeInvalidConfig,
			"there is no token, so everybody could read what is sealed; set %s or %s, or say --without-token on a loopback address", codecTokensVariable, codecTokensFileVariable)
	}
	handler, err := codec.NewEndpoint(codec.EndpointConfig{Keys: cfg.PayloadKeys, Origin: f.origin, Tokens: tokens})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return intent.Errorf(intent.CodeInvalidConfig, "--listen %s cannot be listened on, choose another address: %w", f.listen, err)
	}
	return p.serve(ctx, listener, handler)
}

// codecTokens reads the tokens, or none if no variable is set.
func codecTokens() ([]string, error) {
	text, _, err := codec.Setting(codecTokensVariable)
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' || r == ' ' }), err
}

// loopback reports whether an address can be reached from this machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// How long a request may take to arrive, and what was asked to be answered at the end.
const (
	codecReadTimeout = 10 * time.Second
	codecStopGrace   = 5 * time.Second
)

// serve answers until ctx ends.
func (p *program) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadTimeout: codecReadTimeout, IdleTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	address := "http://" + listener.Addr().String()
	fmt.Fprintf(p.stderr, "writ: the codec endpoint is ready at %s\n", address)
	err := p.print(struct {
		Ready   bool   `json:"ready"`
		Address string `json:"address"`
	}{true, address}, func(io.Writer) {})
	if err == nil {
		select {
		case err = <-ended:
			return fmt.Errorf("codec endpoint: %w", err)
		case <-ctx.Done():
		}
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), codecStopGrace)
	defer cancel()
	if stopped := server.Shutdown(grace); stopped != nil {
		_ = server.Close() // whoever still waits has to ask again
	}
	if served := <-ended; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = fmt.Errorf("codec endpoint: %w", served)
	}
	return err
}
