package main

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"writ"
	"writ/intent"
)

func TestTheProgressLineIsDrawnInPlaceAndRemoved(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	held := writ.Intent{State: intent.Recorded, Holds: []writ.Hold{{Scope: writ.HoldProvider, Name: "bank"}}}
	states := []string{"", stateText(held), stateText(writ.Intent{State: intent.Invoking})}
	ctx, cancel := context.WithCancel(t.Context())
	ticks := make(chan time.Time)
	var out bytes.Buffer
	line := progress{w: &out, tool: "payments.capture", began: began, state: func() string {
		state := states[0]
		states = states[1:]
		if len(states) == 0 {
			cancel()
		}
		return state
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		line.draw(ctx, ticks)
	}()
	for i := range len(states) {
		ticks <- began.Add(time.Duration(i+1) * time.Second)
	}
	<-ended
	const want = clearLine + "payments.capture: waiting, 1 s" + clearLine + "payments.capture: recorded, held by the hold on provider bank, 2 s" +
		clearLine + "payments.capture: invoking, 3 s" + clearLine
	if out.String() != want {
		t.Errorf("drawn: %q", out.String())
	}
}

func TestNothingIsDrawnWhereStandardErrorIsNoTerminal(t *testing.T) {
	t.Parallel()
	p := &program{stderr: writeForbidden{t}}
	p.showProgress(t.Context(), nil, writ.Request{Tool: "echo", RequestKey: "k"})()
}

type writeForbidden struct{ t *testing.T }

func (w writeForbidden) Write(b []byte) (int, error) {
	w.t.Errorf("written: %q", b)
	return 0, io.ErrClosedPipe
}
