package doctor

import (
	"fmt"
	"strings"
	"time"
)

// namedBudgets is how many budgets are named in one finding.
const namedBudgets = 3

// budgets fails if a counter is not what was counted: then too much or too little is let through.
func budgets(f facts) finding {
	if err := f.budgets.err; err != nil {
		return lost(err, "see the checks of the migrations and the privileges", warn)
	}
	b := f.budgets.value
	waits := ""
	if b.Waiting > 0 {
		waits = fmt.Sprintf("; %s for room, the first since %s", waiting(b.Waiting), b.Since.Format(time.RFC3339))
	}
	switch {
	case len(b.Wrong) > 0:
		var list []string
		for _, w := range b.Wrong[:min(len(b.Wrong), namedBudgets)] {
			list = append(list, fmt.Sprintf("%s counts %s and its intents come to %s", w.ID, w.Counter, w.Charged))
		}
		return fail("somebody has changed a row of budget_counters or budget_charges by hand; a window that begins anew counts from nothing, and one of concurrency has to be set right",
			"%s with a wrong count: %s", some(len(b.Wrong), "budget"), strings.Join(list, "; "))
	case len(b.Low) > 0:
		var list []string
		for _, id := range b.Low[:min(len(b.Low), namedBudgets)] {
			list = append(list, id.String())
		}
		return warn("`writ budget list` shows when each begins anew; `writ budget set` raises one",
			"%s used up or nearly so: %s%s", some(len(b.Low), "budget"), strings.Join(list, ", "), waits)
	case b.Standing == 0:
		return ok("no budget stands%s", waits)
	}
	return ok("%s", some(b.Standing, "budget")+", each with room"+waits)
}

func waiting(n int) string {
	if n == 1 {
		return "1 intent waits"
	}
	return fmt.Sprintf("%d intents wait", n)
}
