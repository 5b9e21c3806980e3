package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Spec is a published tool: how it behaves and which workers host it.
type Spec struct {
	Name        string
	Digest      intent.Digest
	JSON        []byte // canonical JSON of tools.Published
	TaskQueue   string
	PublishedAt time.Time
}

// PublishSpecs records the tools that a worker hosts. The last one to publish a name is
// in force.
func (s *Store) PublishSpecs(ctx context.Context, specs []Spec) error {
	const statement = `
		INSERT INTO tool_specs (name, digest, spec, task_queue, published_at)
		VALUES ($1, $2, $3, $4, writ_now())
		ON CONFLICT (name, digest) DO UPDATE
		SET spec = excluded.spec, task_queue = excluded.task_queue, published_at = excluded.published_at`
	return s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		for _, spec := range specs {
			if _, err := tx.Exec(ctx, statement, spec.Name, spec.Digest[:], spec.JSON, spec.TaskQueue); err != nil {
				return err
			}
		}
		return nil
	})
}

// Specs returns the tools in force, ordered by name.
func (s *Store) Specs(ctx context.Context) ([]Spec, error) {
	list, err := specs(ctx, s.pool)
	return list, DatabaseError(err)
}

func specs(ctx context.Context, q querier) ([]Spec, error) {
	const query = `
		SELECT DISTINCT ON (name) name, digest, spec, task_queue, published_at
		FROM tool_specs ORDER BY name, published_at DESC, digest`
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanSpec)
}

// specInForce reads the tool that was published last under the name $1.
const specInForce = `
	SELECT name, digest, spec, task_queue, published_at
	FROM tool_specs WHERE name = $1 ORDER BY published_at DESC, digest LIMIT 1`

// Spec returns the tool in force of exactly that name, or an error with code
// unknown_tool.
func (s *Store) Spec(ctx context.Context, name string) (Spec, error) {
	rows, err := s.pool.Query(ctx, specInForce, name)
	if err != nil {
		return Spec{}, DatabaseError(err)
	}
	specs, err := pgx.CollectRows(rows, scanSpec)
	if err != nil {
		return Spec{}, DatabaseError(err)
	}
	if len(specs) == 0 {
		return Spec{}, unknownTool(name)
	}
	return specs[0], nil
}

func unknownTool(name string) error {
	return intent.Errorf(intent.CodeUnknownTool, "no worker has published a tool named %.100q; `writ tools list` shows those that exist", name)
}

// SpecOf returns a tool as it was published under a digest, whatever is in force now; false if
// it never was, or is not kept any more.
func (s *Store) SpecOf(ctx context.Context, name string, digest intent.Digest) (Spec, bool, error) {
	const query = `
		SELECT name, digest, spec, task_queue, published_at
		FROM tool_specs WHERE name = $1 AND digest = $2`
	rows, err := s.pool.Query(ctx, query, name, digest[:])
	if err != nil {
		return Spec{}, false, DatabaseError(err)
	}
	specs, err := pgx.CollectRows(rows, scanSpec)
	if err != nil || len(specs) == 0 {
		return Spec{}, false, DatabaseError(err)
	}
	return specs[0], true, nil
}

func scanSpec(row pgx.CollectableRow) (Spec, error) {
	var s Spec
	var digest []byte
	err := row.Scan(&s.Name, &digest, &s.JSON, &s.TaskQueue, &s.PublishedAt)
	copy(s.Digest[:], digest)
	return s, err
}
