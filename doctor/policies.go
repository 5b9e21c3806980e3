package doctor

import (
	"encoding/json"
	"fmt"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy/cedar"
	"writ/tools"
)

// policies holds the policies in force in PostgreSQL against the tools. A worker that does not fit
// them denies everything.
func policies(f facts) finding {
	const mend = "correct the policies and put them in force with `writ policy put`, or put earlier ones in force with its --digest"
	switch err := f.rules.err; {
	case intent.CodeOf(err) == intent.CodeInvalidPolicy:
		return fail(mend, "workers with --stored-policies refuse everything as gate_error: %s", oneLine(err))
	case err != nil:
		return lost(err, "see the checks of the migrations and the privileges", warn)
	}
	rules := f.rules.value
	if rules.Number == 0 {
		return ok("none are in force in PostgreSQL: a worker with --stored-policies refuses everything, and others do not ask")
	}
	refuse, unknown := fit(rules)
	switch {
	case refuse != nil:
		return fail(mend, "those in force, put by %s, do not fit: workers with --stored-policies whose tools they do not fit refuse everything as gate_error: %s",
			rules.By.Principal, oneLine(refuse))
	case unknown != nil:
		return warn(mend, "those in force, put by %s, speak of what no published tool is or takes: %s", rules.By.Principal, oneLine(unknown))
	}
	return ok("those in force, put by %s, fit %s: %s", rules.By.Principal, some(len(rules.Tools), "tool"), rules.Digest)
}

// fit returns why some worker refuses everything, or else what is named that is not there.
func fit(rules outbox.PoliciesInForce) (refuse, unknown error) {
	set, err := cedar.Stored(rules.Digest, rules.Files)
	if err != nil {
		return err, nil
	}
	published := make([]tools.Published, len(rules.Tools))
	for i, spec := range rules.Tools {
		if err := json.Unmarshal(spec.JSON, &published[i]); err != nil {
			return fmt.Errorf("published spec of %s: %w", spec.Name, err), nil
		}
	}
	hosted := activities.Hosted(published)
	if _, err := set.ForSome(hosted); err != nil {
		return err, nil
	}
	_, unknown = set.ForTools(hosted)
	return nil, unknown
}
