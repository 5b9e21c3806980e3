package activities

import "writ/outbox"

// Renewal is the next generation of a row, for a person who begins it.
func Renewal(row outbox.Row) outbox.Renewal { return renewal(row) }
