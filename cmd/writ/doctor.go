package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"writ"
	"writ/doctor"
	"writ/intent"
)

func newDoctorCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check what Writ stands on, and say how to mend it",
		Long: `Looks at PostgreSQL (version, durability, standbys, pooler, schema, privileges, clock) and at
Temporal (server, namespace, search attributes, workers), and says of each how it is and how to
mend it. It changes nothing. It sees what this machine and this role see: run it where clients
and workers run, with their settings.

Each check is ok, warn (something will be missed), fail (a promise does not hold, or nothing
works) or unknown (what it hangs on failed). Whatever hangs is given up after ` + doctor.DefaultTimeout.String() + `. The exit
status is 1, with code unhealthy, if a check failed, also after the JSON document:
{"ok":…,"checks":[{"name":…,"status":…,"found":…,"mend":…}]}.`,
		Example: `  writ doctor
  writ doctor -o json | jq -r '.checks[] | select(.status != "ok") | .mend'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.examine(cmd.Context()) },
	}
}

func (p *program) examine(ctx context.Context) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	report, err := writ.Doctor(ctx, cfg)
	if err != nil {
		return err
	}
	if err := p.print(report, func(w io.Writer) { writeReport(w, report) }); err != nil {
		return err
	}
	if !report.OK {
		return intent.Errorf(intent.CodeUnhealthy, "mend what failed, as the report says, and look again: %s", strings.Join(report.Failed(), ", "))
	}
	return nil
}

func writeReport(w io.Writer, r doctor.Report) {
	width := 0
	for _, name := range doctor.Names() {
		width = max(width, len(name))
	}
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%-7s  %-*s  %s\n", c.Status, width, c.Name, printable(c.Found))
		if c.Mend != "" {
			fmt.Fprintf(w, "%9s%s\n", "", printable("mend: "+c.Mend))
		}
	}
}
