package check

// judgeReceipts compares the final receipt of an intent with its row.
func (j *judge) judgeReceipts(class *Class, row Intent) {
	var final []Receipt
	for _, r := range j.receipts[row.ID] {
		if r.Number == 0 && r.Generation == row.Generation {
			final = append(final, r)
		}
	}
	ended := row.State == "completed" || row.State == "failed"
	switch {
	case ended && len(final) == 0:
		class.Lost++
		j.violation(Lost, row.RequestKey, "it is %s and has no receipt", row.State)
		return
	case len(final) > 1:
		j.violation(Contradiction, row.RequestKey, "it has %d final receipts", len(final))
	case !ended && len(final) > 0:
		j.violation(Contradiction, row.RequestKey, "it is %s and has a final receipt", row.State)
	}
	for _, r := range final {
		outcome := map[string]string{"completed": "applied", "failed": "not_applied"}[row.State]
		if r.SaysIntent != row.ID || r.SaysState != row.State || r.SaysOutcome != outcome {
			j.violation(Contradiction, row.RequestKey, "it is %s, and its receipt says that %s is %s and %s",
				row.State, r.SaysIntent, r.SaysState, r.SaysOutcome)
		}
	}
}

// judgeReceiptsKept compares the receipts with what was read of them earlier.
func (j *judge) judgeReceiptsKept() {
	now := map[ReceiptID]string{}
	for _, r := range j.Receipts {
		now[r.ReceiptID] = r.Digest
	}
	for id, digest := range j.Seen {
		if now[id] != digest {
			j.violation(Contradiction, "", "receipt %d of generation %d of intent %s was changed or is gone", id.Number, id.Generation, id.IntentID)
		}
	}
}
