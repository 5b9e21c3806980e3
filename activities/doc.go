// Package activities is the only code of Writ that touches the world on behalf of an
// intent. [Activities] has four steps, which go by the intent's row, because the row and
// not the workflow is the truth about effects:
//
//	authorize  may this request become, or go on as, an intent?
//	persist    commit the row with its idempotency key, before any effect
//	invoke     claim an attempt, run the tool with the persisted key, record the evidence
//	journal    end the intent with a receipt, or park it
//
// Every step answers with a [Progress], which names the next step. The workflow obeys it
// and decides nothing, so histories read as a sequence of decisions and an old history
// replays under newer rules.
//
// A step may run any number of times and on any worker. It must never send an effect
// without a claim that was granted to it (a read has none and may be run before it has a
// row), and never hold a database connection while a tool runs.
//
// # Failures
//
// What a caller did wrong and what policy refuses is data (Progress.Rejection, a refused
// row), never an activity error. An activity error means that the database did not answer
// or that this worker does not host the tool; it is retried.
package activities
