package telemetry

import (
	"net/url"
	"os"
	"regexp"
	"strings"

	"writ/intent"
)

// headerName is a token of RFC 9110, which is all that the exporters take as a header's name.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// checkOTLP refuses a collector's address or headers that the exporters could not read.
// They would print the value on standard error, with the credentials in it, and go on
// without it. The errors name the variable and repeat nothing of its value.
func (s signal) checkOTLP() error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", s.variable("ENDPOINT")} {
		if !readableEndpoint(strings.TrimSpace(os.Getenv(name))) {
			return intent.Errorf(intent.CodeInvalidConfig, "%s is not a URL; write http://host:port or https://host:port", name)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", s.variable("HEADERS")} {
		if !readableHeaders(strings.TrimSpace(os.Getenv(name))) {
			return intent.Errorf(intent.CodeInvalidConfig,
				"%s cannot be read; write name=value,name=value, with each value percent-encoded", name)
		}
	}
	return nil
}

// readableEndpoint leaves schemes other than HTTP's to the exporter: gRPC has its own.
func readableEndpoint(value string) bool {
	if value == "" {
		return true
	}
	endpoint, err := url.Parse(value)
	if err != nil {
		return false
	}
	return endpoint.Host != "" || endpoint.Scheme != "http" && endpoint.Scheme != "https"
}

func readableHeaders(value string) bool {
	if value == "" {
		return true
	}
	for header := range strings.SplitSeq(value, ",") {
		name, encoded, found := strings.Cut(header, "=")
		if !found || !headerName.MatchString(strings.TrimSpace(name)) {
			return false
		}
		if _, err := url.PathUnescape(encoded); err != nil {
			return false
		}
	}
	return true
}
