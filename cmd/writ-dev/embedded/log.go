package embedded

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// quiet is for clients that only look whether something is ready.
var quiet = slog.New(slog.DiscardHandler)

// newLogger returns the server's logger.
func newLogger(output io.Writer, level string) (log.Logger, error) {
	if level == "" {
		level = "warn"
	}
	parsed, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("level of Temporal's log: %w", err)
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(encoding), zapcore.Lock(zapcore.AddSync(output)), parsed)
	return log.NewZapLogger(zap.New(core, zap.WithFatalHook(lastWords{}))), nil
}

// lastWords says on stderr why Temporal ends the process: otherwise a person
// would see it only in the log.
type lastWords struct{}

func (lastWords) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	values := zapcore.NewMapObjectEncoder()
	for _, field := range fields {
		field.AddTo(values)
	}
	fmt.Fprintf(os.Stderr, "writ-dev: temporal_failed: Temporal gave up: %s %v\n", entry.Message, values.Fields)
	os.Exit(1)
}
