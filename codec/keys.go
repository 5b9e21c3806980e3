package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"strings"

	"writ/intent"
)

// keySize is the size of a key in bytes: AES-256.
const keySize = 32

// Keys is a key ring. The zero value has no keys: it seals nothing, and refuses what is sealed.
// It is safe for concurrent use.
type Keys struct {
	ring []key
}

// key is one key under the name that payloads remember.
type key struct {
	id string
	// seal draws a fresh 96-bit nonce for every payload and puts it in front. By NIST SP 800-38D,
	// section 8.3, a key may seal 2^32 payloads so.
	seal cipher.AEAD
}

// ParseKeys reads keys as "id:base64,id2:base64", one to a line if there are several lines. The
// first one seals. An id is a name as in intent.CheckName, a key 32 bytes in standard base64. The
// error has code invalid_configuration and names an entry by its place, because whatever stands
// in it may be a key.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	place := 0
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		place++
		k, err := parseKey(place, entry)
		if err != nil {
			return Keys{}, err
		}
		if _, twice := keys.find(k.id); twice {
			return Keys{}, intent.Errorf(intent.CodeInvalidConfig, "payload key %d has the id of an earlier one; give each key an id of its own", place)
		}
		keys.ring = append(keys.ring, k)
	}
	if place == 0 {
		return Keys{}, intent.Errorf(intent.CodeInvalidConfig, "there is no payload key; give at least one as id:base64")
	}
	return keys, nil
}

func parseKey(place int, entry string) (key, error) {
	colon := strings.LastIndexByte(entry, ':')
	if colon < 0 {
		return key{}, intent.Errorf(intent.CodeInvalidConfig, "payload key %d has no id; write it as id:base64", place)
	}
	id := entry[:colon]
	if intent.CheckName("payload key id", id) != nil {
		return key{}, intent.Errorf(intent.CodeInvalidConfig, "the id of payload key %d is not a name; use letters, digits and . _ - : @ /", place)
	}
	secret, err := base64.StdEncoding.DecodeString(entry[colon+1:])
	if err != nil || len(secret) != keySize {
		return key{}, intent.Errorf(intent.CodeInvalidConfig, "payload key %d is not %d bytes in base64; make one with `openssl rand -base64 %d`", place, keySize, keySize)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return key{}, fmt.Errorf("payload key %d: %w", place, err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return key{}, fmt.Errorf("payload key %d: %w", place, err)
	}
	return key{id: id, seal: seal}, nil
}

// Empty reports whether there are no keys.
func (k Keys) Empty() bool { return len(k.ring) == 0 }

// IDs returns the names of the keys; the first one seals.
func (k Keys) IDs() []string {
	ids := make([]string, len(k.ring))
	for i, one := range k.ring {
		ids[i] = one.id
	}
	return ids
}

// Format prints the ids, whatever the verb: a configuration that is logged must show no key.
func (k Keys) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "payload keys [%s]", strings.Join(k.IDs(), " "))
}

func (k Keys) find(id string) (key, bool) {
	for _, one := range k.ring {
		if one.id == id {
			return one, true
		}
	}
	return key{}, false
}
