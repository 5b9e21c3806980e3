// Package cedar lets a host write its policies in Cedar (https://www.cedarpolicy.com).
//
// [Load] reads the policies of a folder, and [FromFiles] those of texts. [Set.ForTools] checks them
// against the tools that they are to rule, and what it returns is a policy.Policy: it permits what
// some policy permits and no policy forbids. A forbid with @confirm does not forbid; it asks for
// people who confirm. [Set.Explain] says how it came to a verdict.
//
// It also rules who may decide about intents, by the actions other than tool.execute that the heads
// of its policies name; see [Set.MayDecide].
//
// A policy whose evaluation fails decides nothing in Cedar, and a forbid that decides nothing
// would allow. So a failure in any policy is an error here, which the engine records as a denial.
// For the same reason a value that Cedar cannot represent is an error, and never left out.
package cedar
