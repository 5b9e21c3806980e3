package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"writ"
	"writ/intent"
)

// progressEvery is how often the line is drawn and the intent is looked at.
const progressEvery = time.Second

// showProgress keeps one line on a terminal while the request is waited for, until stop is
// called; stop removes it. The request has a key. Where standard error is no terminal it does
// nothing.
func (p *program) showProgress(ctx context.Context, client *writ.Client, request writ.Request) (stop func()) {
	file, ok := p.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ticker := time.NewTicker(progressEvery)
	id := intent.IntentID(request.Tenant, intent.RequestKey(request.RequestKey))
	line := progress{w: p.stderr, tool: request.Tool, began: time.Now(), state: func() string {
		v, err := client.Get(ctx, id)
		if err != nil {
			return "" // not there yet, or not to be asked now: the wait itself will tell
		}
		return stateText(v)
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		line.draw(ctx, ticker.C)
	}()
	return func() {
		cancel()
		<-ended
		ticker.Stop()
	}
}

// progress is the line.
type progress struct {
	w     io.Writer
	tool  string
	began time.Time
	// state returns how the intent stands, or "" while it is not known.
	state func() string
}

// stateText is the intent's state, and what it is held by.
func stateText(v writ.Intent) string {
	text := string(v.State)
	for _, h := range v.Holds {
		text += fmt.Sprintf(", held by the hold on %s %s", h.Scope, h.Name)
	}
	if v.BudgetWait != nil {
		text += ", waits for budget " + v.BudgetWait.Budget.ID
	}
	return text
}

// The line is overwritten in place: back to its start, clear to its end (ECMA-48 EL).
const clearLine = "\r\x1b[K"

// draw writes the line at every tick and removes it when ctx ends.
func (l progress) draw(ctx context.Context, ticks <-chan time.Time) {
	defer func() { fmt.Fprint(l.w, clearLine) }()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks:
			state := l.state()
			if state == "" {
				state = "waiting"
			}
			fmt.Fprintf(l.w, "%s%s: %s, %d s", clearLine, printable(l.tool), printable(state), now.Sub(l.began).Round(time.Second)/time.Second)
		}
	}
}
