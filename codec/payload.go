package codec

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"writ/intent"
)

// The metadata of a sealed payload, named as in Temporal's own samples.
const (
	encodingSealed = "binary/encrypted"
	metadataKeyID  = "encryption-key-id"
)

// bound is what a seal holds beside the content: this form, and the id of the key. The
// original metadata need not be named, because it is sealed with the content.
func bound(id string) []byte { return []byte("writ payload 1\x00" + id) }

// payloadCodec seals and opens payloads.
type payloadCodec struct{ keys Keys }

// Codec returns the Temporal codec of the keys. Without keys it seals nothing. The errors of
// Decode have codes payload_key_missing and payload_not_authentic.
func (k Keys) Codec() converter.PayloadCodec { return payloadCodec{keys: k} }

// Encode seals every payload, metadata and all, under the first key.
func (c payloadCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.keys.Empty() {
		return payloads, nil
	}
	first := c.keys.ring[0]
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("seal a payload: %w", err)
		}
		sealed[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingSealed), metadataKeyID: []byte(first.id)},
			Data:     first.seal.Seal(nil, nil, plain, bound(first.id)),
		}
	}
	return sealed, nil
}

// Decode opens what is sealed and leaves the rest as it is.
func (c payloadCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingSealed {
			opened[i] = p
			continue
		}
		plain, err := c.open(p)
		if err != nil {
			return nil, err
		}
		opened[i] = plain
	}
	return opened, nil
}

func (c payloadCodec) open(p *commonpb.Payload) (*commonpb.Payload, error) {
	id := string(p.GetMetadata()[metadataKeyID])
	k, ok := c.keys.find(id)
	if !ok {
		return nil, intent.Errorf(intent.CodePayloadKeyMissing,
			"a payload in Temporal is sealed under key %.64q, which this process does not have; add the key to its payload keys", id)
	}
	plain, err := k.seal.Open(nil, nil, p.GetData(), bound(id))
	opened := &commonpb.Payload{}
	if err != nil || proto.Unmarshal(plain, opened) != nil {
		return nil, intent.Errorf(intent.CodePayloadNotAuthentic,
			"a payload in Temporal does not open under key %.64q; it was changed, or that id names another key here than where it was sealed", id)
	}
	return opened, nil
}
