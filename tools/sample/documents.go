package sample

var deleteSpec = keyed("documents.delete", "documents", "Delete a document for good: document_id.")

var deletePayload = shape{
	"document_id": {required: true, rule: identifier},
	"reason":      {rule: text(1000)},
}
