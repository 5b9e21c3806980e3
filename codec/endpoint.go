package codec

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"

	"go.temporal.io/sdk/converter"

	"writ/intent"
)

// minToken is the least length of a token in bytes, so that it cannot be guessed.
const minToken = 20

// maxDecode bounds a request in bytes. Temporal gives histories in pages of about 4 MB.
const maxDecode = 32 << 20

// EndpointConfig says what an endpoint opens, and for whom.
type EndpointConfig struct {
	// Keys open payloads. Required.
	Keys Keys
	// Origin is the one web page that may ask from a browser, as "https://temporal.example.com".
	// Default: none, so that only programs can ask.
	Origin string
	// Tokens are the bearer tokens of which a request must have one, of 20 bytes or more. Without
	// any everybody who reaches the endpoint may ask: that is for a loopback address only.
	Tokens []string
}

// NewEndpoint returns the codec endpoint for the Temporal UI and the temporal command line: POST
// /decode, also below the name of a namespace. It opens and never seals. A payload that does not
// open is answered with 400 and the reason. The error has code invalid_configuration.
func NewEndpoint(cfg EndpointConfig) (http.Handler, error) {
	if cfg.Keys.Empty() {
		return nil, intent.Errorf(intent.CodeInvalidConfig, "there are no payload keys to open anything with; set WRIT_PAYLOAD_KEYS")
	}
	if cfg.Origin != "" && !isOrigin(cfg.Origin) { // it may hold a password, so it is not repeated
		return nil, intent.Errorf(intent.CodeInvalidConfig, "what is given as the origin of the Temporal UI is none; write it as http://host:port or https://host, without a user or a path")
	}
	e := &endpoint{origin: cfg.Origin, decode: converter.NewPayloadCodecHTTPHandler(cfg.Keys.Codec())}
	for i, token := range cfg.Tokens {
		if len(token) < minToken {
			return nil, intent.Errorf(intent.CodeInvalidConfig, "token %d has %d bytes; choose at least %d, as of `openssl rand -hex 32`", i+1, len(token), minToken)
		}
		e.tokens = append(e.tokens, sha256.Sum256([]byte(token)))
	}
	return e, nil
}

// isOrigin reports whether text is an origin as a browser sends it for a web page (RFC 6454, section 6.2).
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (text == "http://"+u.Host || text == "https://"+u.Host)
}

type endpoint struct {
	origin string
	tokens [][sha256.Size]byte
	decode http.Handler
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// A browser always says for which page it asks across origins, and a page that points its own
	// name at this address is another origin as well.
	if origin := r.Header.Get("Origin"); origin != "" {
		w.Header().Set("Vary", "Origin")
		if origin != e.origin {
			http.Error(w, "this page may not ask; the endpoint is set up for another origin", http.StatusForbidden)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", e.origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
	}
	switch {
	case !strings.HasSuffix(r.URL.Path, "/decode"):
		http.NotFound(w, r)
	case r.Method == http.MethodOptions: // a preflight never has the token
		w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send POST", http.StatusMethodNotAllowed)
	case !e.authorized(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send a token of this endpoint as Authorization: Bearer", http.StatusUnauthorized)
	default:
		r.Body = http.MaxBytesReader(w, r.Body, maxDecode)
		e.decode.ServeHTTP(w, r)
	}
}

// authorized compares digests, so that neither the content nor the length of a token can be told
// from how long it takes.
func (e *endpoint) authorized(r *http.Request) bool {
	if len(e.tokens) == 0 {
		return true
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest, found := sha256.Sum256([]byte(given)), 0
	for _, token := range e.tokens {
		found |= subtle.ConstantTimeCompare(digest[:], token[:])
	}
	return strings.EqualFold(scheme, "Bearer") && found == 1 // RFC 9110, section 11.1: in any case
}
