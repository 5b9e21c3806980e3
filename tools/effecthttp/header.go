package effecthttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// fixed are the headers that net/http writes from the request itself. It drops what
// Request.Header says of them without a word (Request.write).
var fixed = []string{"Content-Length", "Host", "Trailer", "Transfer-Encoding"}

// taken are the other headers that carry no key to a provider: those of one connection, which
// proxies take away (RFC 9110, section 7.6.1), and those that this package or the protocol
// means something else by.
var taken = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade",
	"Authorization", "Content-Type", "Expect", "Traceparent", "Tracestate", "User-Agent",
}

// checkHeader says what of the configured headers could not be sent.
func checkHeader(h http.Header) error {
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return errors.New("a name is no name of a header (RFC 9110, section 5.1)")
		}
		if slices.Contains(fixed, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("%s follows from each request and cannot be configured", http.CanonicalHeaderKey(name))
		}
		if slices.ContainsFunc(values, func(value string) bool { return !httpguts.ValidHeaderFieldValue(value) }) {
			return fmt.Errorf("the value of %s cannot stand in a header (RFC 9110, section 5.5)", http.CanonicalHeaderKey(name))
		}
	}
	return nil
}

// checkKeyHeader says why a header cannot carry the key, as the end of a sentence about it.
func checkKeyHeader(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return errors.New("is no name of a header (RFC 9110, section 5.1)")
	case slices.Contains(fixed, canonical) || slices.Contains(taken, canonical):
		return errors.New("is a header that means something else, or does not reach the provider; name one that is for the key")
	}
	return nil
}
