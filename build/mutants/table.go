package main

// mutants are breakages of the protocol that have to be noticed, by the part of it that they
// break.
var mutants = []mutant{
	// The rule: what is done next.
	{
		name: "settle_on_the_last_attempt",
		file: "intent/next.go", old: "case s.open > 0:", broken: "case s.open > 0 && (s.last == nil || s.last.Outcome != NotApplied):",
		dir: "intent", test: "TestAnIntentFailsOnlyWhenEveryAttemptIsProvenNotApplied",
	},
	{
		name: "ignore_the_window",
		file: "intent/next.go", old: "case !r.windowHolds(latest(now, r.due(s))):", broken: "case false:",
		dir: "intent", test: "TestAKeyedToolIsSentAgainOnlyWithinTheProvidersMemoryOfTheKey",
	},
	{
		name: "take_an_unknown_window_for_a_long_one",
		file: "intent/next.go", old: "case r.Rules.Window == 0:", broken: "case false:",
		dir: "intent", test: "TestTheRuleTakesEveryStoryToTheEndItTells",
	},
	{
		name: "send_an_opaque_effect_again",
		file: "intent/next.go", old: "return r.park(s, now, ReasonNeverSentTwice)", broken: "return r.invokeWhenDue(s, now, ReasonResend)",
		dir: "intent", test: "TestAnOpaqueToolIsNeverSentWhileAnEarlierAttemptIsOpen",
	},
	{
		name: "trust_absent_before_the_settle_delay",
		file: "intent/survey.go", old: "l.Finding != Absent || l.AskedAt.Before(a.LeaseUntil.Add(r.Rules.SettleDelay))", broken: "l.Finding != Absent",
		dir: "intent", test: "TestAReconcilableToolIsSentAgainOnlyAfterATrustedLookupFoundNothing",
	},
	{
		name: "look_up_for_ever",
		file: "intent/next.go", old: "case s.lookups >= r.Rules.MaxLookups:", broken: "case false:",
		dir: "intent", test: "TestAnIntentThatOnlyMeetsTroubleEndsOrWaitsForAPerson",
	},
	{
		name: "try_for_ever",
		file: "intent/next.go", old: "return s.spent >= r.Rules.MaxAttempts ||", broken: "return false &&",
		dir: "intent", test: "TestTheBudgetBoundsTheAttemptsUntilAPersonRenewsIt",
	},
	{
		name: "park_while_the_attempt_may_still_answer",
		file: "intent/next.go", old: "case s.unanswered && s.leaseEnd.After(now):", broken: "case false:",
		dir: "intent", test: "TestNoAttemptIsParkedBeforeItsLeaseEnded",
	},
	{
		name: "send_a_new_key_while_an_old_one_is_open",
		file: "intent/next.go", old: "case s.openOld > 0:", broken: "case false:",
		dir: "intent", test: "TestTheRuleTakesEveryStoryToTheEndItTells",
	},
	{
		name: "forget_that_it_was_cancelled",
		file: "intent/survey.go", old: "s.cancelled = true", broken: "s.cancelled = false",
		dir: "intent", test: "TestNothingIsSentWhileAPersonOrThePolicyForbidsIt",
	},
	{
		name: "forget_that_the_policy_said_no",
		file: "intent/next.go", old: "return !r.RevokedAt.IsZero() &&", broken: "return false &&",
		dir: "intent", test: "TestNothingIsSentWhileAPersonOrThePolicyForbidsIt",
	},
	{
		name: "ignore_a_hold",
		file: "intent/next.go", old: "case r.HeldUntil.After(now):", broken: "case false:",
		dir: "intent", test: "TestNothingIsSentWhileAPersonOrThePolicyForbidsIt",
	},
	{
		name: "take_already_captured_for_success_on_a_first_attempt",
		file: "intent/survey.go", old: "if a.Already && s.uncertain > 0 {", broken: "if a.Already {",
		dir: "activities", test: "TestAlreadyCapturedIsSuccessOnlyAfterAnOpenAttempt",
	},
	{
		name: "trust_a_lookup_about_later_attempts",
		file: "intent/survey.go", old: "l.Generation == a.Generation && l.Attempts >= a.Number &&", broken: "l.Generation == a.Generation &&",
		dir: "intent", test: "TestWhatHappenedIsReadFromTheWholeRecord",
	},
	{
		name: "take_in_progress_for_proof_that_nothing_happened",
		file: "intent/survey.go", old: "return a.Outcome == NotApplied && a.InProgress", broken: "return false",
		dir: "intent", test: "TestTheRuleTakesEveryStoryToTheEndItTells",
	},
	{
		name: "count_two_nameless_effects_of_a_keyless_tool_once",
		file: "intent/effects.go", old: "nameless++", broken: "nameless = 1",
		dir: "intent", test: "TestTheRuleTakesEveryStoryToTheEndItTells",
	},
	{
		name: "be_silent_about_a_key_that_was_performed_twice",
		file: "intent/effects.go", old: "counted = max(counted, l.Effects)", broken: "counted = max(counted, 1)",
		dir: "activities", test: "TestAProviderThatShowsOneKeyPerformedTwiceIsRecordedLoudly",
	},

	{
		name: "let_a_refusal_speak_for_earlier_requests",
		file: "intent/survey.go", old: "if r.Rules.ReplaysErrors && b.Stored && b.Outcome", broken: "if b.Outcome",
		dir: "intent", test: "TestAnIntentFailsOnlyWhenEveryAttemptIsProvenNotApplied",
	},

	// The claim: the permission to send.
	{
		name: "claim_by_attempt_instead_of_version",
		file: "outbox/claim.go", old: "row.Version == req.Version && step.Kind == intent.Invoke {",
		broken: "step.Attempt == len(row.Attempts)+1 && step.Kind == intent.Invoke {\n\t\t\treq.Version = row.Version",
		dir:    "outbox", test: "TestAClaimOnAnOldVersionIsRefused",
	},
	{
		name: "grant_what_the_rule_does_not_say",
		file: "outbox/claim.go", old: "row.Version == req.Version && step.Kind == intent.Invoke", broken: "row.Version == req.Version",
		dir: "outbox", test: "TestAClaimAsksTheRuleUnderTheLock",
	},
	{
		name: "take_my_own_lost_commit_for_a_lost_race",
		file: "outbox/claim.go", old: "row.attemptWith(req.Token); ok {", broken: "row.attemptWith(req.Token); ok && req.Version < 0 {",
		dir: "outbox", test: "TestAClaimWhoseCommitAnswerWasLostIsFoundByItsToken",
	},
	{
		name: "take_the_lock_of_holds_after_the_rows",
		file: "outbox/claim.go",
		old: `		if err := lockHolds(ctx, tx, req.ID); err != nil {
			return err
		}
		row, err := lockRow(ctx, tx, req.ID)
		if err != nil {
			return err
		}
`,
		broken: `		row, err := lockRow(ctx, tx, req.ID)
		if err != nil {
			return err
		}
		if err := lockHolds(ctx, tx, req.ID); err != nil {
			return err
		}
`,
		dir: "outbox", test: "TestAClaimThatWaitedForAHoldToBeSetSeesIt",
	},
	{
		name: "claim_without_waiting_for_the_disk",
		file: "outbox/claim.go", old: "const beginClaim = beginFlushed +", broken: "const beginClaim = beginRelaxed +",
		dir: "outbox", test: "TestACleanRunTakesThreeFlushedCommits",
	},
	{
		name: "drop_the_fence",
		file: "outbox/fence.go", old: "if row.Rules.Class != intent.Transactional || !open {", broken: "if row.Rules.Class != \"\" || !open {",
		dir: "outbox", test: "TestAnAttemptThatWasOvertakenBeforeItBeganDoesNothingWheneverItComesBack",
	},
	{
		name: "let_the_breaker_lift_a_persons_hold",
		file: "outbox/breaker.go", old: "WHERE scope = 'provider' AND name = $1 AND automatic AND lifted_at IS NULL AND set_at < $2`",
		broken: "WHERE scope = 'provider' AND name = $1 AND lifted_at IS NULL AND set_at < $2`",
		dir:    "outbox", test: "TestAPersonsHoldIsNeitherProbedNorLiftedByTheBreaker",
	},
	{
		name: "reuse_the_key_for_the_next_generation",
		file: "activities/journal.go", old: "intent.DeriveKey(row.Tenant, row.Tool, row.RequestKey, generation)", broken: "intent.DeriveKey(row.Tenant, row.Tool, row.RequestKey, row.Generation)",
		dir: "activities", test: "TestAKeyThatTheProviderMayHaveForgottenIsLookedUpAndOnlyThenReplaced",
	},

	{
		name: "grant_a_first_attempt_under_any_behaviour",
		file: "outbox/row.go", old: "r.Sent() && rules.Continues(r.Rules)", broken: "rules.Continues(r.Rules)",
		dir: "outbox", test: "TestTheFirstAttemptIsGrantedOnlyUnderTheAuthorizedBehaviour",
	},
	{
		name: "run_a_new_generation_under_any_behaviour",
		file: "outbox/row.go", old: "return n > 0 && r.Attempts[n-1].Generation == r.Generation", broken: "return n > 0",
		dir: "activities", test: "TestANewGenerationRunsUnderTheBehaviourThatItsCommitmentNamesOrNotAtAll",
	},

	// The attempt: what leaves, and what is known of it.
	{
		name: "send_before_the_claim",
		file: "activities/invoke.go", old: "killpoint.Reach(killpoint.BeforeClaim, in.IntentID.String())",
		broken: `_, _ = tool.Tool.Invoke(ctx, invocation.New(invocation.Fields{Tool: in.Tool, Attempt: 1, IdempotencyKey: "early", Deadline: time.Now().Add(time.Second)}))`,
		dir:    "activities", test: "TestAnAttemptThatIsNotGrantedSendsNothing",
	},
	{
		name: "send_without_a_claim",
		file: "activities/invoke.go", old: "if !claim.Granted {", broken: "if !claim.Granted && row.Version < 0 {",
		dir: "activities", test: "TestOfManyInvocationsOnOneVersionOneRunsTheTool",
	},
	{
		name: "derive_the_key_from_the_attempt",
		file: "activities/invoke.go", old: "IdempotencyKey: row.IdempotencyKey, Attempt: attempt.Number,",
		broken: "IdempotencyKey: intent.DeriveKey(row.Tenant, row.Tool, row.RequestKey, attempt.Number), Attempt: attempt.Number,",
		dir:    "activities", test: "TestTheToolReceivesExactlyWhatWasAuthorizedAndPersisted",
	},
	{
		name: "let_the_tools_context_follow_the_activitys",
		file: "activities/run.go", old: "telemetry.Start(context.WithoutCancel(ctx), \"writ.attempt\",", broken: "telemetry.Start(ctx, \"writ.attempt\",",
		dir: "activities", test: "TestCancellingTheActivityDoesNotInterruptTheTool",
	},
	{
		name: "take_a_panic_for_a_failure",
		file: "activities/run.go", old: "failed(&ev, tools.Classify(r.class, errors.New(panictext.Of(p))))",
		broken: "failed(&ev, tools.NotApplied(errors.New(panictext.Of(p))))",
		dir:    "activities", test: "TestWhatAToolDoesIsNeverTakenForLessThanItMayHaveDone",
	},
	{
		name: "take_a_504_for_a_failure",
		file: "tools/effecthttp/answer.go", old: "return tools.Unknown(err).WithCode(byStatus).After(wait)", broken: "return tools.NotApplied(err).WithCode(byStatus).After(wait)",
		dir: "tools/effecthttp", test: "TestEachStatusSaysWhatIsKnownOfTheEffect",
	},
	{
		name: "follow_redirects",
		file: "tools/effecthttp/client.go", old: "resp, err := via.RoundTrip(sent)", broken: "resp, err := (&http.Client{Transport: via}).Do(sent)",
		dir: "tools/effecthttp", test: "TestARedirectIsNotFollowed",
	},
	{
		name: "write_a_request_to_a_second_connection",
		file: "tools/effecthttp/permit.go", old: "case p.used != nil:", broken: "case p.used != nil && p.withdrawn:",
		dir: "tools/effecthttp", test: "TestAPermitIsGoodForOneConnection",
	},
	{
		name: "send_after_the_time_to_send_by",
		file: "tools/effecthttp/permit.go", old: "case passed(p.now(), p.sendBy):", broken: "case p.late:",
		dir: "tools/effecthttp", test: "TestTheTimeSpentConnectingCounts",
	},

	{
		name: "drop_an_answer_that_comes_after_the_lease",
		file: "activities/run.go", old: "r.late(r.checked(<-answers))", broken: "r.checked(<-answers)",
		dir: "activities", test: "TestAnAnswerThatComesAfterTheLeaseIsRecorded",
	},

	// The evidence and the end.
	{
		name: "let_later_evidence_overwrite_a_definite_outcome",
		file: "outbox/journal.go", old: "(a.Outcome == \"\" || a.Outcome == intent.Unknown && ev.Outcome != intent.Unknown)", broken: "(a.Outcome != ev.Outcome)",
		dir: "outbox", test: "TestADefiniteOutcomeIsNeverReplacedAndAnUnknownOneGivesWay",
	},
	{
		name: "accept_evidence_with_any_token",
		file: "outbox/journal.go", old: "a, ok := r.attemptWith(ev.Token)", broken: "a, ok := r.Attempts[len(r.Attempts)-1], true",
		dir: "outbox", test: "TestEvidenceCountsOnlyWithTheTokenOfItsClaim",
	},
	{
		name: "pass_over_evidence_against_an_end",
		file: "outbox/journal.go", old: "if against == intent.Contradiction(before.Record()) {", broken: "if against != \"never\" {",
		dir: "outbox", test: "TestEvidenceAgainstAnEndIsSealedAsAnAmendmentOnDiskAndRaisesTheAlert",
	},
	{
		name: "let_an_amendment_rewrite_the_end",
		file: "outbox/journal.go", old: "row.Alert, row.Raised = against, against != \"\"", broken: "row.State, row.Alert, row.Raised = intent.Completed, against, against != \"\"",
		dir: "outbox", test: "TestEvidenceAgainstAnEndIsSealedAsAnAmendmentOnDiskAndRaisesTheAlert",
	},
	{
		name: "look_up_on_an_old_version",
		file: "outbox/lookup.go", old: "row.Version != req.Version || row.Next().Kind != intent.Reconcile {", broken: "row.Next().Kind != intent.Reconcile {",
		dir: "outbox", test: "TestALookupIsGrantedOnceAndOnTheVersionThatItWasDecidedOn",
	},
	{
		name: "let_a_tool_of_another_provider_look_up",
		file: "outbox/lookup.go", old: "Diverged: !req.Rules.Continues(row.Rules)", broken: "Diverged: false",
		dir: "activities", test: "TestAToolThatAsksAnotherProviderMayNotLookUp",
	},
	{
		name: "file_an_answer_under_the_last_question",
		file: "outbox/lookup.go", old: "return l.Token == found.Token", broken: "return l.Number == len(row.Lookups)",
		dir: "outbox", test: "TestAnAnswerIsFiledUnderTheQuestionThatItAnswersAndNoOther",
	},

	// Transactional tools.
	{
		name: "give_a_transactional_tool_the_raw_transaction",
		file: "outbox/effecttx.go", old: "	rows, err := e.Query(ctx, sql, args...)\n	if err != nil {\n", broken: "	if e.tx != nil {\n		ctx, cancel := context.WithTimeout(ctx, time.Second) // COPY would wait for ever\n		defer cancel()\n		return e.tx.Exec(ctx, sql, args...)\n	}\n	rows, err := e.Query(ctx, sql, args...)\n	if err != nil {\n",
		dir: "outbox", test: "TestWhatControlsTheTransactionOrTheSessionIsRefusedAndNothingIsKept",
	},
	{
		name: "keep_the_effect_of_a_tool_that_failed",
		file: "outbox/transact.go", old: "if ev.Outcome != intent.Applied {", broken: "if ev.Outcome == \"\" {",
		dir: "outbox", test: "TestNothingIsKeptOfAToolThatFailsAndTheNextAttemptMakesTheEffect",
	},
}
