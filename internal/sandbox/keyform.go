package sandbox

import "net/http"

// ReferenceHeader carries the client's own name for an effect, where the endpoint keeps one.
const ReferenceHeader = "Client-Reference"

// checkKey refuses what a keyed endpoint cannot take for a key.
func checkKey(h http.Header) *problem {
	switch values := h.Values("Idempotency-Key"); {
	case len(values) == 0 || values[0] == "":
		return refuse(http.StatusBadRequest, CodeKeyMissing,
			"Send an Idempotency-Key header that names this one action; nothing was done.")
	case len(values) > 1 || !validKey(values[0]):
		return refuse(http.StatusBadRequest, CodeKeyInvalid,
			"Send one Idempotency-Key header of 1 to 255 printable ASCII characters; nothing was done.")
	default:
		return nil
	}
}

// checkReference refuses what could not be asked for again.
func checkReference(reference string) *problem {
	if reference == "" || validKey(reference) {
		return nil
	}
	return refuse(http.StatusBadRequest, CodeReferenceInvalid,
		"Send a %s header of 1 to 255 printable ASCII characters, or none; nothing was done.", ReferenceHeader)
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return len(key) <= 255
}
