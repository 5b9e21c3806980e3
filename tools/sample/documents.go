package sample

import "writ/tools"

var deleteSpec = tools.Spec{
	Name: "documents.delete", Category: "documents", Description: "Delete a document for good: document_id.",
	InputSchema: deletePayload,
}

var deleteMembers = members{
	"document_id": identifier,
	"reason":      text(1000),
}

var deletePayload = payloadOf(deleteMembers, "document_id")
