package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen := flag.String("run", "", "try only mutants whose name matches this regular expression")
	list := flag.Bool("list", false, "print the table and try nothing")
	flag.Parse()
	wanted, err := regexp.Compile(*chosen)
	if err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: mutants [-run REGEXP] [-list]", err)
		os.Exit(2)
	}
	table := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !wanted.MatchString(m.name) })
	if *list {
		for _, m := range table {
			fmt.Printf("%-44s %s: %s\n", m.name, m.dir, m.test)
		}
		return
	}
	if err := prove(ctx, table); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// prove tries every mutant of the table, after all their tests have passed without one.
func prove(ctx context.Context, table []mutant) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("run it in the root of the repository")
	}
	folder, err := os.MkdirTemp("", "writ-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	b := bench{root: root, folder: folder}
	if err := b.healthy(ctx, table); err != nil {
		return err
	}
	survivors := 0
	for i, m := range table {
		began := time.Now()
		err := b.try(ctx, m)
		verdict := "caught"
		if err != nil {
			survivors++
			verdict = err.Error()
		}
		fmt.Printf("%2d/%d %-44s %3.0f s  %s (%s: %s)\n", i+1, len(table), m.name, time.Since(began).Seconds(), verdict, m.dir, m.test)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if survivors > 0 {
		return fmt.Errorf("%d of %d mutants were not caught", survivors, len(table))
	}
	fmt.Printf("all %d mutants were caught\n", len(table))
	return nil
}

// healthy runs the tests of the table on the code as it is.
func (b bench) healthy(ctx context.Context, table []mutant) error {
	var dirs []string
	tests := map[string][]string{}
	for _, m := range table {
		if tests[m.dir] == nil {
			dirs = append(dirs, m.dir)
		}
		if !slices.Contains(tests[m.dir], m.test) {
			tests[m.dir] = append(tests[m.dir], m.test)
		}
	}
	for _, dir := range dirs {
		fmt.Printf("== %s: %d tests without a mutant\n", dir, len(tests[dir]))
		if err := b.passes(ctx, dir, tests[dir]); err != nil {
			return err
		}
	}
	return nil
}
