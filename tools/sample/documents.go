package sample

var deleteSpec = keyed("documents.delete", "documents", "Delete a document for good: document_id.", deletePayload, nil)

var deleteMembers = members{
	"document_id": identifier,
	"reason":      text(1000),
}

var deletePayload = payloadOf(deleteMembers, "document_id")
