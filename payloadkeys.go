package writ

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"writ/codec"
	"writ/intent"
)

// payloadKeysVariable gives the payload keys.
const payloadKeysVariable = "WRIT_PAYLOAD_KEYS"

// payloadKeysFromEnvironment reads the keys, or none if no variable is set. Its errors show
// nothing of what the variable or the file holds.
func payloadKeysFromEnvironment() (codec.Keys, error) {
	text, source, err := codec.Setting(payloadKeysVariable)
	if err != nil || text == "" && source == payloadKeysVariable {
		return codec.Keys{}, err
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
