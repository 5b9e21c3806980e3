package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
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
	case len(b.Broken) > 0:
		return fail("`writ budget set` with the same tenant, kind and window mends what is allowed and what is counted; `writ budget remove` lifts one whose window was changed",
			"%s cannot count, because somebody changed rows of budgets or budget_counters by hand, and everything that falls under them is refused as budget_uncountable: %s",
			some(len(b.Broken), "budget"), ids(b.Broken))
	case len(b.Wrong) > 0:
		var list []string
		for _, w := range b.Wrong[:min(len(b.Wrong), namedBudgets)] {
			list = append(list, fmt.Sprintf("%s counts %s and its intents come to %s", w.ID, w.Counter, w.Charged))
		}
		return fail("somebody has changed a row of budget_counters or budget_charges by hand; a window that begins anew counts from nothing, and one of concurrency has to be set right",
			"%s with a wrong count: %s", some(len(b.Wrong), "budget"), strings.Join(list, "; "))
	case len(b.Low) > 0:
		return warn("`writ budget list` shows when each begins anew; `writ budget set` raises one",
			"%s used up or nearly so: %s%s", some(len(b.Low), "budget"), ids(b.Low), waits)
	case b.Standing == 0:
		return ok("no budget stands%s", waits)
	}
	return ok("%s", some(b.Standing, "budget")+", each with room"+waits)
}

// ids names the first of the budgets.
func ids(list []uuid.UUID) string {
	var named []string
	for _, id := range list[:min(len(list), namedBudgets)] {
		named = append(named, id.String())
	}
	return strings.Join(named, ", ")
}

func waiting(n int) string {
	if n == 1 {
		return "1 intent waits"
	}
	return fmt.Sprintf("%d intents wait", n)
}
