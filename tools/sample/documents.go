package sample

var deleteSpec = keyed("documents.delete", "documents", "Delete a document for good: document_id.")

func checkDelete(payload []byte) error {
	var p struct {
		DocumentID identifier `json:"document_id"`
		Reason     optional   `json:"reason"`
	}
	return decode(payload, &p, "document_id")
}
