package intent

import "bytes"

// PolicyForm is one policy of a set, as its digest sees it.
type PolicyForm struct {
	ID     string
	Policy []byte // canonical JSON
}

// PolicyDigest is the digest of a set of policies, which are ordered by id.
func PolicyDigest(set []PolicyForm) Digest {
	forms := make([][]byte, len(set))
	for i, p := range set {
		forms[i] = canonicalObject(member{"id", text(p.ID)}, member{"policy", embedded(p.Policy)})
	}
	return digestOf("policy-set", append(append([]byte{'['}, bytes.Join(forms, []byte{','})...), ']'))
}
