package doctor

import (
	"encoding/json"

	"writ/activities"
	"writ/outbox"
	"writ/policy/cedar"
	"writ/tools"
)

// policies holds the policies in force in PostgreSQL against the tools. A worker that does not fit
// them denies everything.
func policies(f facts) finding {
	if err := f.rules.err; err != nil {
		return lost(err, "see the checks of the migrations and the privileges", warn)
	}
	rules := f.rules.value
	if rules.Number == 0 {
		return ok("none are in force in PostgreSQL: a worker with --stored-policies refuses everything, and others do not ask")
	}
	if err := fit(rules); err != nil {
		return fail("correct the policies and put them in force with `writ policy put`, or put earlier ones in force with its --digest",
			"those in force, put by %s, do not fit: workers with --stored-policies whose tools they do not fit refuse everything as gate_error: %s", rules.Principal, oneLine(err))
	}
	return ok("those in force, put by %s, fit %s: %s", rules.Principal, some(len(rules.Tools), "tool"), rules.Digest)
}

func fit(rules outbox.PoliciesInForce) error {
	set, err := cedar.Stored(rules.Digest, rules.Files)
	if err != nil {
		return err
	}
	published := make([]tools.Published, len(rules.Tools))
	for i, spec := range rules.Tools {
		if err := json.Unmarshal(spec.JSON, &published[i]); err != nil {
			return err
		}
	}
	_, err = set.ForTools(activities.Hosted(published))
	return err
}
