package policy

// Approval is a policy's demand that people confirm before anything is sent.
type Approval struct {
	// Approvers is how many people must say yes, each another one; at least 1.
	Approvers int
}
