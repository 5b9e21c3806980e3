package sample

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"writ/tools"
)

// The codes of attempts of the tools for documents in Writ's own database.
const (
	// CodeDocumentExists: a document of that id is stored already.
	CodeDocumentExists = "document_exists"
	// CodeDocumentNotFound: the tenant has no document of that id.
	CodeDocumentNotFound = "document_not_found"
)

// Store returns documents.store, which keeps a document in Writ's own database, in the
// transaction that completes the intent. A second document of one id is refused.
func Store(cfg Config) tools.Tool {
	spec := cfg.kept("documents.store", "Keep a document here: document_id, title, content.", storePayload)
	return keptTool{Transactor: tools.NewTransactional(spec, store), members: storeMembers}
}

// Purge returns documents.purge, which deletes a document that documents.store has kept, in
// the transaction that completes the intent, and answers what it has deleted. A tenant reaches
// its own documents only.
func Purge(cfg Config) tools.Tool {
	spec := cfg.kept("documents.purge", "Delete a document that is kept here: document_id.", purgePayload)
	spec.OutputSchema = purgeAnswer
	return keptTool{Transactor: tools.NewTransactional(spec, purge), members: deleteMembers}
}

var storeMembers = members{
	"document_id": identifier,
	"title":       text(255),
	"content":     text(512 << 10),
}

var storePayload = payloadOf(storeMembers, "document_id", "title", "content")

var purgePayload = payloadOf(deleteMembers, "document_id")

var purgeAnswer = json.RawMessage(`{
	"type": "object",
	"required": ["document_id", "title", "size"],
	"properties": {
		"document_id": {"type": "string"},
		"title":       {"type": "string"},
		"size":        {"type": "integer", "minimum": 0}
	}
}`)

// kept is the behaviour of the tools whose effect is in Writ's own database. They have no
// provider, and no key is sent.
func (cfg Config) kept(name, description string, input json.RawMessage) tools.Spec {
	return tools.Spec{
		Name: name, Category: "documents", Description: description, Retryable: true,
		Timeout: cmp.Or(cfg.Timeout, timeout), Retry: cfg.Retry, InputSchema: input,
	}
}

// keptTool is a transactional tool that checks texts as the others do.
type keptTool struct {
	tools.Transactor
	members members
}

// Validate refuses what the schema cannot, and what PostgreSQL's text does not hold.
func (t keptTool) Validate(payload []byte) error {
	var sent struct{ Title string }
	if err := json.Unmarshal(payload, &sent); err != nil {
		return errors.New("the payload must be a JSON object")
	}
	if strings.ContainsRune(sent.Title, 0) {
		return errors.New("title must not hold the character U+0000")
	}
	return t.members.checkTexts(payload)
}

func store(ctx context.Context, tx tools.Tx, inv tools.Invocation) (tools.Result, error) {
	var document struct {
		ID      string `json:"document_id"`
		Title   string `json:"title"`
		Content string `json:"content"`
	}
	if err := inv.Decode(&document); err != nil {
		return tools.Result{}, tools.NotApplied(err).AsFinal()
	}
	const statement = `
		INSERT INTO documents (tenant, id, title, content, created_by, created_at)
		VALUES ($1, $2, $3, $4, $5, writ_now())
		ON CONFLICT DO NOTHING`
	who := inv.Context()
	tag, err := tx.Exec(ctx, statement, who.Tenant, document.ID, document.Title, []byte(document.Content), who.Principal)
	if err != nil {
		return tools.Result{}, fmt.Errorf("store the document: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return tools.Result{}, tools.NotApplied(errors.New("a document of that id is kept already")).WithCode(CodeDocumentExists).AsFinal()
	}
	return tools.JSON(map[string]any{"document_id": document.ID, "size": len(document.Content)})
}

func purge(ctx context.Context, tx tools.Tx, inv tools.Invocation) (tools.Result, error) {
	var document struct {
		ID    string `json:"document_id"`
		Title string `json:"title"`
		Size  int64  `json:"size"`
	}
	if err := inv.Decode(&document); err != nil {
		return tools.Result{}, tools.NotApplied(err).AsFinal()
	}
	const statement = `
		DELETE FROM documents WHERE tenant = $1 AND id = $2
		RETURNING title, length(content)`
	err := tx.QueryRow(ctx, statement, inv.Context().Tenant, document.ID).Scan(&document.Title, &document.Size)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return tools.Result{}, tools.NotApplied(errors.New("the tenant keeps no document of that id")).WithCode(CodeDocumentNotFound).AsFinal()
	case err != nil:
		return tools.Result{}, fmt.Errorf("delete the document: %w", err)
	}
	return tools.JSON(document)
}
