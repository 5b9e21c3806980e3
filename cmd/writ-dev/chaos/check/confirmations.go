package check

// judgeConfirmations compares who has confirmed an intent with who had to, and when.
func (j *judge) judgeConfirmations(a Asked, row Intent) {
	if row.Confirmations != a.Confirmations {
		j.violation(Contradiction, a.RequestKey, "its row wants %d people to confirm it, and %d have to", row.Confirmations, a.Confirmations)
	}
	attempts := j.attempts[row.ID]
	inTime, all := map[string]bool{}, 0
	for _, d := range j.Decisions {
		if d.IntentID != row.ID || d.Kind != "confirm" {
			continue
		}
		all++
		if d.Commitment == row.Commitment && len(attempts) > 0 && !d.DecidedAt.After(attempts[0].ClaimedAt) {
			inTime[d.Principal] = true
		}
	}
	if len(attempts) > 0 && len(inTime) < a.Confirmations {
		j.violation(Unconfirmed, a.RequestKey, "%d of %d people had confirmed it before it was claimed", len(inTime), a.Confirmations)
	}
	if all > a.Confirmations {
		j.violation(Contradiction, a.RequestKey, "%d confirmations are recorded, and %d were needed", all, a.Confirmations)
	}
}
