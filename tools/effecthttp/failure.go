package effecthttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"syscall"

	"writ/tools"
)

// The codes of failures without an answer. Those of answers are beside them.
const (
	codeNotSent           = tools.CodeNotSent
	codeInvalidRequest    = "invalid_request"
	codeConnectionRefused = "connection_refused"
	codeNameNotFound      = "name_not_found"
	codeTLSFailed         = "tls_failed"
	codeConnectionFailed  = "connection_failed"
	codeTimeout           = "timeout"
	codeConnectionLost    = "connection_lost"
)

// transportFailure says what is known after a round trip without an answer.
func transportFailure(ctx context.Context, p *permit, err error) *tools.Failure {
	if p.withdraw() {
		return tools.Unknown(err).WithCode(lostCode(err))
	}
	if p.tooLate() || ctx.Err() != nil {
		return tools.NotApplied(err).WithCode(codeNotSent).AsUncontacted()
	}
	return tools.NotApplied(err).WithCode(connectCode(err)).AsUnanswered()
}

// lostCode names why the answer to a request that may have been sent did not come.
func lostCode(err error) string {
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return codeTimeout
	}
	return codeConnectionLost
}

// connectCode names why there was no connection to send the request on.
func connectCode(err error) string {
	var (
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.As(err, &dns):
		return codeNameNotFound
	case errors.Is(err, syscall.ECONNREFUSED):
		return codeConnectionRefused
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &host),
		errors.As(err, &record), errors.As(err, &alert):
		return codeTLSFailed
	default:
		return codeConnectionFailed
	}
}
