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
	"sync"
	"sync/atomic"
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
	var survivors atomic.Int32
	var all sync.WaitGroup
	queue := make(chan mutant)
	for range trialsAtOnce {
		all.Go(func() {
			for m := range queue {
				if !b.report(ctx, m) {
					survivors.Add(1)
				}
			}
		})
	}
	for _, m := range table {
		queue <- m
	}
	close(queue)
	all.Wait()
	if n := survivors.Load(); n > 0 {
		return fmt.Errorf("%d of %d mutants were not caught", n, len(table))
	}
	fmt.Printf("all %d mutants were caught\n", len(table))
	return nil
}

// trialsAtOnce lets one trial compile while the test of another waits for something.
const trialsAtOnce = 2

// report tries a mutant, prints a line about it and reports whether it was caught.
func (b bench) report(ctx context.Context, m mutant) (caught bool) {
	began := time.Now()
	verdict := "caught by " + m.test
	err := ctx.Err()
	if err == nil {
		err = b.try(ctx, m)
	}
	if err != nil {
		verdict = fmt.Sprintf("NOT CAUGHT by %s: %v", m.test, err)
	}
	fmt.Printf("%3.0f s  %-52s %s\n", time.Since(began).Seconds(), m.name, verdict)
	return err == nil
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
