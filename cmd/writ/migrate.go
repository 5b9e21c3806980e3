package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ/intent"
	"writ/outbox"
)

func newMigrateCommand(p *program) *cobra.Command {
	up := &cobra.Command{
		Use:   "up",
		Short: "Apply every migration that is missing",
		Long: `Brings the schema of the outbox to the newest form. Any number of processes may do it at
once; it needs a direct connection, not a transaction pooler.`,
		Example: `  writ migrate up
  writ migrate up --database-url postgres://writ@db.internal/writ`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.migrate(cmd.Context(), "the schema is up to date", func(ctx context.Context, m *outbox.Migrator) ([]outbox.Migration, error) {
				return m.Up(ctx)
			})
		},
	}
	cmd := group("migrate", "Create, bring up to date or take back the schema of the outbox",
		up, newMigrateDownCommand(p), newMigrateStatusCommand(p))
	cmd.Long = "Moves the schema of the outbox in PostgreSQL. Temporal keeps its own."
	cmd.Example = `  writ migrate up
  writ migrate status -o json
  writ migrate down`
	return cmd
}

func newMigrateDownCommand(p *program) *cobra.Command {
	var discard bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take the newest migration back",
		Long: `Takes the newest migration back, one for each call. While the outbox holds intents it
refuses with status 3, because the records of what was done would be lost.`,
		Example: `  writ migrate down
  writ migrate down --discard-records`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.migrate(cmd.Context(), "no migration is applied", func(ctx context.Context, m *outbox.Migrator) ([]outbox.Migration, error) {
				return m.Down(ctx, discard)
			})
		},
	}
	cmd.Flags().BoolVar(&discard, "discard-records", false, "go on although intents and receipts are destroyed")
	return cmd
}

func newMigrateStatusCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the migrations and whether they are applied",
		Long:  "Lists every migration that this release has, and when it was applied.",
		Example: `  writ migrate status
  writ migrate status -o json | jq 'all(.applied)'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.migrate(cmd.Context(), "there are no migrations", func(ctx context.Context, m *outbox.Migrator) ([]outbox.Migration, error) {
				return m.Status(ctx)
			})
		},
	}
}

// migrate runs one step and prints the migrations that it returns, or the text for an empty list.
func (p *program) migrate(ctx context.Context, empty string, step func(context.Context, *outbox.Migrator) ([]outbox.Migration, error)) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	m, err := outbox.NewMigrator(cfg.DatabaseURL)
	if err != nil {
		return intent.Errorf(intent.CodeInvalidConfig, "correct DATABASE_URL or --database-url: %w", err)
	}
	defer m.Close()
	list, err := step(ctx, m)
	if err != nil && intent.CodeOf(err) == "" {
		return intent.Errorf(intent.CodeMigrationFailed, "see `writ migrate status`; once the cause is gone the same command again is safe: %w", err)
	}
	if err != nil {
		return err
	}
	if list == nil {
		list = []outbox.Migration{} // an empty list in JSON as well
	}
	return p.print(list, func(w io.Writer) { writeMigrations(w, list, empty) })
}

func writeMigrations(w io.Writer, list []outbox.Migration, empty string) {
	if len(list) == 0 {
		fmt.Fprintln(w, empty)
	}
	for _, m := range list {
		switch {
		case m.Applied && !m.AppliedAt.IsZero():
			fmt.Fprintf(w, "applied      %s  %s\n", m.Name, moment(m.AppliedAt))
		case m.Applied:
			fmt.Fprintf(w, "applied      %s\n", m.Name)
		default:
			fmt.Fprintf(w, "not applied  %s\n", m.Name)
		}
	}
}
