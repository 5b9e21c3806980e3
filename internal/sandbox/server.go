package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Config says how a [Server] works.
type Config struct {
	// LedgerPath is the ledger's file. It is made if it is missing, with its folder. Required.
	LedgerPath string
	// KeyWindow is how long a key is remembered, from the first answer under it on. Default 0: for ever.
	KeyWindow time.Duration
	// BusinessRules says that a payment is captured and a document deleted only once, whatever the key. The default hides
	// no duplicate from the ledger.
	BusinessRules bool
	// Logger receives warnings and failures of the provider itself. The default is [slog.Default].
	Logger *slog.Logger
}

// Server is the provider. Its methods may be called at once from several goroutines.
type Server struct {
	log      *slog.Logger
	ledger   *ledger
	desk     *desk
	faults   *faultRules
	holds    *holds
	requests *requestLog
	settings *settings
	once     sync.Mutex // held while the rules of business are asked and an effect is performed
	mux      *http.ServeMux

	stopping chan struct{}
	stop     sync.Once
}

// New opens the ledger, or makes it, and takes the stored answers from it. It fails with [ErrLedgerInUse],
// [ErrLedgerCorrupt] or an error of the file system. A torn last line is cut off with a warning.
func New(cfg Config) (*Server, error) {
	log := cfg.Logger
	if log == nil {
		log = slog.Default()
	}
	ledger, err := openLedger(cfg.LedgerPath, log)
	if err != nil {
		return nil, err
	}
	s := newServer(ledger, log)
	s.settings.window, s.settings.rules = cfg.KeyWindow, cfg.BusinessRules
	return s, nil
}

func newServer(ledger *ledger, log *slog.Logger) *Server {
	stopping := make(chan struct{})
	faults, settings := &faultRules{}, &settings{}
	s := &Server{
		log:    log,
		ledger: ledger,
		desk: &desk{
			ledger: ledger, faults: faults, settings: settings,
			held: make(map[string]bool), stored: make(map[string]storedError), forgotten: make(map[string]int64),
		},
		faults:   faults,
		settings: settings,
		holds:    &holds{stopping: stopping, waiting: make(map[*hold]struct{})},
		requests: &requestLog{stopping: stopping, waiters: make(map[*requestWaiter]struct{})},
		mux:      http.NewServeMux(),
		stopping: stopping,
	}
	for endpoint, op := range operations {
		s.mux.HandleFunc("POST "+endpoint, func(w http.ResponseWriter, r *http.Request) {
			s.serveEffect(w, r, endpoint, op)
		})
	}
	s.mux.HandleFunc("GET "+effectsLookup, s.serveEffects)
	s.mux.HandleFunc("GET "+effectsLookup+"/{key}", s.serveEffects)
	s.mux.HandleFunc("GET "+transfersLookup, s.serveTransfers)
	s.mux.HandleFunc("GET /ledger", s.serveLedger)
	s.mux.HandleFunc("GET /requests", s.serveRequests)
	s.mux.HandleFunc("GET /healthz", s.serveHealth)
	s.mux.HandleFunc("POST /admin/faults", s.addFault)
	s.mux.HandleFunc("GET /admin/faults", s.listFaults)
	s.mux.HandleFunc("DELETE /admin/faults", s.removeFaults)
	s.mux.HandleFunc("DELETE /admin/faults/{id}", s.removeFaults)
	s.mux.HandleFunc("POST /admin/release", s.releaseHeld)
	s.mux.HandleFunc("POST /admin/forget", s.forgetKeys)
	s.mux.HandleFunc("POST /admin/settings", s.changeSettings)
	s.mux.HandleFunc("GET /admin/settings", s.showSettings)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, refuse(http.StatusNotFound, CodeNoSuchEndpoint,
			"%s %s is not an endpoint of this provider; nothing was done.", r.Method, r.URL.Path))
	})
	return s
}

// Handler serves every endpoint.
func (s *Server) Handler() http.Handler { return s.mux }

// Close stops the provider: hanging requests and waits end (one that has not acted yet is refused, one that has is
// answered), new effects are refused with 503, and effects under way are finished and flushed before Close returns. It is
// called before the HTTP server is shut down, since that waits for hanging requests. Calling it again does nothing.
func (s *Server) Close() error {
	s.stop.Do(func() { close(s.stopping) })
	return s.ledger.close()
}

// refuse sends a problem to whoever asks about the books or sets faults.
func (s *Server) refuse(w http.ResponseWriter, p *problem) {
	s.sent(writeProblem(w, p))
}

// sent notes an answer that did not get through; the client notices by itself.
func (s *Server) sent(err error) {
	if err != nil {
		s.log.Debug("an answer was not delivered", "error", err)
	}
}

// endpoints lists the effect endpoints in a fixed order.
func endpoints() []string { return slices.Sorted(maps.Keys(operations)) }

// now is the provider's clock, in UTC and cut to what every database keeps.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// newID makes a name that no other request or effect of any provider has.
func newID(prefix string) string {
	var random [12]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	return prefix + hex.EncodeToString(random[:])
}
