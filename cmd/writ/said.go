package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
)

// saying is a command by which somebody says something.
type saying[On, Said any] struct {
	use, short, long, example string
	who                       string // of --principal
	record                    func(*writ.Client, context.Context, On, writ.Decider) (Said, error)
}

// said records what somebody says, or sets, and shows it.
func said[On, Said any](cmd *cobra.Command, p *program, by decisionFlags,
	record func(*writ.Client, context.Context, On, writ.Decider) (Said, error), on On, write func(io.Writer, []Said),
) error {
	decider, err := by.decider(cmd)
	if err != nil {
		return err
	}
	s, err := withClient(cmd.Context(), p, func(c *writ.Client, ctx context.Context) (Said, error) { return record(c, ctx, on, decider) })
	if err != nil {
		return err
	}
	return p.print(s, func(w io.Writer) { write(w, []Said{s}) })
}

// listSaid shows what was said.
func listSaid[Of, Said any](cmd *cobra.Command, p *program,
	list func(*writ.Client, context.Context, Of, bool) ([]Said, error), of Of, all bool, write func(io.Writer, []Said),
) error {
	if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
		return err
	}
	found, err := withClient(cmd.Context(), p, func(c *writ.Client, ctx context.Context) ([]Said, error) { return list(c, ctx, of, all) })
	if err != nil {
		return err
	}
	if len(found) == mostSaid {
		fmt.Fprintf(p.stderr, "writ: only the first %d are shown; narrow the list\n", mostSaid)
	}
	return p.print(found, func(w io.Writer) { write(w, found) })
}

// mostSaid is how many the client returns at most.
const mostSaid = 1000

func statementText(s writ.Statement) string {
	return decisionText(standing(s.Principal, s.Standing), s.Note, s.ChangedAt)
}
