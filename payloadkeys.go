package writ

import (
	"os"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"writ/codec"
	"writ/intent"
)

// The variables that give the payload keys; at most one of them.
const (
	payloadKeysVariable     = "WRIT_PAYLOAD_KEYS"
	payloadKeysFileVariable = "WRIT_PAYLOAD_KEYS_FILE"
)

// payloadKeysFromEnvironment reads the keys, or none if no variable is set. Its errors show
// nothing of what the variable or the file holds.
func payloadKeysFromEnvironment() (codec.Keys, error) {
	text, file := os.Getenv(payloadKeysVariable), os.Getenv(payloadKeysFileVariable)
	source := payloadKeysVariable
	switch {
	case text == "" && file == "":
		return codec.Keys{}, nil
	case text != "" && file != "":
		return codec.Keys{}, intent.Errorf(intent.CodeInvalidConfig, "%s and %s are both set; keep one of them", payloadKeysVariable, payloadKeysFileVariable)
	case file != "":
		content, err := os.ReadFile(file)
		if err != nil {
			return codec.Keys{}, intent.Errorf(intent.CodeInvalidConfig, "%s cannot be read: %w", payloadKeysFileVariable, err)
		}
		text, source = string(content), payloadKeysFileVariable
	}
	keys, err := codec.ParseKeys(text)
	if err != nil {
		return codec.Keys{}, intent.Errorf(intent.CodeInvalidConfig, "%s cannot be used: %w", source, err)
	}
	return keys, nil
}

// seal makes Temporal's client seal what it sends. Without keys it still refuses what is sealed,
// unless a DataConverter of the host's own is there to read it.
func (c *Config) seal() error {
	if c.PayloadKeys.Empty() && (c.Temporal.DataConverter != nil || c.Temporal.FailureConverter != nil) {
		return nil
	}
	if c.Temporal.FailureConverter != nil {
		return intent.Errorf(intent.CodeInvalidConfig, "PayloadKeys seal failures as well; leave Temporal.FailureConverter out")
	}
	parent := c.Temporal.DataConverter
	if parent == nil {
		parent = converter.GetDefaultDataConverter()
	}
	c.Temporal.DataConverter = c.PayloadKeys.DataConverter(parent)
	// Messages and stack traces are no payloads unless they are made to be.
	c.Temporal.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: c.Temporal.DataConverter, EncodeCommonAttributes: !c.PayloadKeys.Empty(),
	})
	return nil
}
