package outbox

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"writ/intent"
)

// factColumns are what the rule needs of an intent's lookups and decisions, each as one JSON
// array. They come with the row, because a step is decided on one snapshot of everything.
const factColumns = `
	(SELECT jsonb_agg(jsonb_build_object('number', l.number, 'generation', l.generation, 'attempts', l.attempts, 'token', l.token, 'worker', l.worker, 'asked_at', l.asked_at,
		'finding', l.finding, 'answered_at', l.answered_at, 'code', l.code, 'message', l.message, 'retry_after_ms', l.retry_after_ms,
		'effect_id', l.effect_id, 'effects', l.effects, 'media_type', l.media_type) ORDER BY l.number)
		FROM lookups l WHERE l.intent_id = i.id),
	(SELECT jsonb_agg(jsonb_build_object('kind', d.kind, 'generation', d.generation, 'attempts', d.attempts, 'lookups', d.lookups,
		'principal', d.principal, 'commitment', encode(d.commitment, 'hex'), 'at', d.decided_at) ORDER BY d.number)
		FROM decisions d WHERE d.intent_id = i.id)`

// Lookup is one question to the provider with its answer.
type Lookup struct {
	intent.Lookup
	Token         uuid.UUID
	Worker        string
	Code, Message string
	// MediaType is empty unless the lookup has a result.
	MediaType string
}

// lookupFact is a lookup as factColumns has it.
type lookupFact struct {
	Number       int            `json:"number"`
	Generation   int            `json:"generation"`
	Attempts     int            `json:"attempts"`
	Token        uuid.UUID      `json:"token"`
	Worker       string         `json:"worker"`
	AskedAt      time.Time      `json:"asked_at"`
	Finding      intent.Finding `json:"finding"`
	AnsweredAt   time.Time      `json:"answered_at"`
	Code         string         `json:"code"`
	Message      string         `json:"message"`
	RetryAfterMS int64          `json:"retry_after_ms"`
	EffectID     string         `json:"effect_id"`
	Effects      int            `json:"effects"`
	MediaType    string         `json:"media_type"`
}

// readFacts reads the columns of factColumns; nil is none.
func (r *Row) readFacts(lookups, decided []byte) error {
	r.Lookups, r.Decided = nil, nil
	var asked []lookupFact
	var decisions []struct {
		Kind       intent.DecisionKind `json:"kind"`
		Generation int                 `json:"generation"`
		Attempts   int                 `json:"attempts"`
		Lookups    int                 `json:"lookups"`
		Principal  string              `json:"principal"`
		Commitment intent.Digest       `json:"commitment"`
		At         time.Time           `json:"at"`
	}
	for _, column := range []struct {
		what string
		json []byte
		into any
	}{{"lookups", lookups, &asked}, {"decisions", decided, &decisions}} {
		if column.json == nil {
			continue
		}
		if err := json.Unmarshal(column.json, column.into); err != nil {
			return Unreadable(fmt.Sprintf("the %s of intent %s", column.what, r.ID), err)
		}
	}
	for _, f := range asked {
		r.Lookups = append(r.Lookups, Lookup{
			Lookup: intent.Lookup{
				Number: f.Number, Generation: f.Generation, Attempts: f.Attempts, AskedAt: f.AskedAt.UTC(), Finding: f.Finding, AnsweredAt: f.AnsweredAt.UTC(),
				RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond, EffectID: f.EffectID, Effects: f.Effects,
			},
			Token: f.Token, Worker: f.Worker, Code: f.Code, Message: f.Message, MediaType: f.MediaType,
		})
	}
	for _, d := range decisions {
		r.Decided = append(r.Decided, intent.Decided{Kind: d.Kind, Generation: d.Generation, Attempts: d.Attempts, Lookups: d.Lookups,
			Principal: d.Principal, Commitment: d.Commitment, At: d.At.UTC()})
	}
	return nil
}
