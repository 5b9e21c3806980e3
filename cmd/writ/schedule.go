package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

func newScheduleCommand(p *program) *cobra.Command {
	cmd := group("schedule", "Have a tool run again and again, once for each time",
		newScheduleCreateCommand(p), newScheduleListCommand(p), newSchedulePauseCommand(p), newScheduleResumeCommand(p),
		newScheduleTriggerCommand(p), newScheduleBackfillCommand(p), newScheduleDeleteCommand(p))
	cmd.Long = `Has Temporal ask for a tool at the times of a schedule. Each nominal time is one intent with a
request key of its own, schedule:NAME:TIME, so that neither a backfill nor a second start for
the same time runs it twice.

Temporal keeps schedules. One that lost its store has to be given them again; what was done
for a time is not done again then.`
	cmd.Example = `  writ schedule create nightly-purge documents.purge --cron '0 3 * * *' --time-zone Europe/Berlin
  writ schedule list
  writ schedule backfill nightly-purge --from 2026-03-01T00:00:00Z --to 2026-03-03T00:00:00Z`
	return cmd
}

// scheduleFlags are the flags of writ schedule create.
type scheduleFlags struct {
	executeFlags
	every, offset, catchUp time.Duration
	cron                   []string
	zone, note             string
	paused                 bool
}

func newScheduleCreateCommand(p *program) *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "create NAME TOOL",
		Short: "Ask for a tool at the times of a schedule",
		Long: `Creates a schedule. --every and --cron say when, and may be combined; what both name is one time.
The payload is checked against the tool's input schema now, and again each time.`,
		Example: `  writ schedule create nightly-purge documents.purge --cron '0 3 * * *' --time-zone Europe/Berlin
  writ schedule create heartbeat echo --every 1h --offset 5m --payload '{"hello":"world"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%s takes a NAME and a TOOL and was given %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return p.createSchedule(cmd.Context(), args[0], args[1], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.payload, "payload", "{}", "`JSON` object, @FILE, or - for standard input; at most 64 KiB")
	flags.StringVar(&f.tenant, "tenant", writ.DefaultTenant, "`tenant` whose schedule it is")
	f.registerPrincipal(cmd, "who asks")
	f.registerStanding(cmd, "who asks")
	flags.StringVar(&f.service, "service", serviceName, "`name` of the service that asks")
	flags.DurationVar(&f.every, "every", 0, "ask each time that so much time has passed, counted from the Unix epoch")
	flags.DurationVar(&f.offset, "offset", 0, "ask so long after the times of --every")
	flags.StringArrayVar(&f.cron, "cron", nil, "ask at the times of a cron `expression` of five to seven fields; may be repeated")
	flags.StringVar(&f.zone, "time-zone", "", "IANA `name` of the time zone of --cron (default: UTC)")
	flags.DurationVar(&f.catchUp, "catch-up", 0, "how late a time that was missed is still asked for, at least 10s (default: a year)")
	flags.BoolVar(&f.paused, "paused", false, "create it paused")
	flags.StringVar(&f.note, "note", "", "`text` that says what it is for; at most 1,000 bytes on one line")
	return cmd
}

func (p *program) createSchedule(ctx context.Context, name, tool string, f scheduleFlags) error {
	return p.onSchedule(ctx, f.tenant, name, "created", func(client *writ.Client) error {
		request, err := p.request(ctx, []string{tool}, f.executeFlags, client.MaxPayload())
		if err != nil {
			return err
		}
		return client.CreateSchedule(ctx, writ.Schedule{
			Name: name, Request: request, Every: f.every, Offset: f.offset, Cron: f.cron, TimeZone: f.zone, CatchUp: f.catchUp, Paused: f.paused, Note: f.note,
		})
	})
}

// scheduleDone is the document of what was done to a schedule.
type scheduleDone struct {
	Tenant   string `json:"tenant"`
	Schedule string `json:"schedule"`
	Done     string `json:"done"`
}

// onSchedule does something to a schedule and says so.
func (p *program) onSchedule(ctx context.Context, tenant, name, done string, do func(*writ.Client) error) error {
	client, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := do(client); err != nil {
		return err
	}
	return p.print(scheduleDone{tenant, name, done}, func(w io.Writer) {
		var b block
		b.add(done, fmt.Sprintf("the schedule %s of tenant %s", name, tenant))
		b.write(w)
	})
}

func newScheduleListCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the schedules of all tenants",
		Long:    "Lists the schedules of all tenants. One that was just created may be missing for a second.",
		Example: `  writ schedule list -o json | jq -r '.[] | select(.paused) | .name'`,
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listSchedules(cmd.Context()) },
	}
}

func (p *program) listSchedules(ctx context.Context) error {
	list, err := withClient(ctx, p, (*writ.Client).Schedules)
	if err != nil {
		return err
	}
	return p.print(list, func(w io.Writer) { writeSchedules(w, list) })
}

func writeSchedules(w io.Writer, list []writ.ScheduleSummary) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no schedules")
		return
	}
	rows := [][]string{{"NAME", "TENANT", "TOOL", "NEXT", "NOTE"}}
	for _, s := range list {
		next := "-"
		switch {
		case s.Paused:
			next = "paused"
		case len(s.Next) > 0:
			next = moment(s.Next[0])
		}
		rows = append(rows, []string{s.Name, s.Tenant, dash(s.Tool), next, s.Note})
	}
	writeTable(w, rows)
}

// oneSchedule is a command that does something to one schedule.
func oneSchedule(p *program, cmd *cobra.Command, done string, do func(ctx context.Context, client *writ.Client, tenant, name string) error) *cobra.Command {
	tenant := cmd.Flags().String("tenant", writ.DefaultTenant, "`tenant` whose schedule it is")
	cmd.Args = one("NAME")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.onSchedule(cmd.Context(), *tenant, args[0], done, func(client *writ.Client) error {
			return do(cmd.Context(), client, *tenant, args[0])
		})
	}
	return cmd
}

func newSchedulePauseCommand(p *program) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:     "pause NAME",
		Short:   "Stop a schedule from asking",
		Long:    "Pauses a schedule. Times that pass meanwhile are not made up for; writ schedule backfill does that.",
		Example: `  writ schedule pause nightly-purge --note "until the audit is over"`,
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` that says why; at most 1,000 bytes on one line")
	return oneSchedule(p, cmd, "paused", func(ctx context.Context, client *writ.Client, tenant, name string) error {
		return client.PauseSchedule(ctx, tenant, name, note)
	})
}

func newScheduleResumeCommand(p *program) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:     "resume NAME",
		Short:   "Let a paused schedule go on",
		Long:    "Lets a schedule that was paused go on with its next time.",
		Example: `  writ schedule resume nightly-purge --note "the audit is over"`,
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` that says why; at most 1,000 bytes on one line")
	return oneSchedule(p, cmd, "resumed", func(ctx context.Context, client *writ.Client, tenant, name string) error {
		return client.ResumeSchedule(ctx, tenant, name, note)
	})
}

func newScheduleTriggerCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trigger NAME",
		Short:   "Ask now",
		Long:    "Asks now, also if the schedule is paused. The nominal time of what is asked for is this second.",
		Example: `  writ schedule trigger nightly-purge`,
	}
	return oneSchedule(p, cmd, "triggered", func(ctx context.Context, client *writ.Client, tenant, name string) error {
		return client.TriggerSchedule(ctx, tenant, name)
	})
}

func newScheduleBackfillCommand(p *program) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "backfill NAME",
		Short: "Ask for the times that have passed",
		Long: `Asks at once for all nominal times of the schedule between two moments. What was done for one of
them is not done again, so the same backfill may be repeated.`,
		Example: `  writ schedule backfill nightly-purge --from 2026-03-01T00:00:00Z --to 2026-03-03T00:00:00Z`,
	}
	cmd.Flags().StringVar(&from, "from", "", "first `moment`, in RFC 3339")
	cmd.Flags().StringVar(&to, "to", "", "last `moment`, in RFC 3339")
	return oneSchedule(p, cmd, "backfilled", func(ctx context.Context, client *writ.Client, tenant, name string) error {
		var between [2]time.Time
		for i, flag := range []struct{ name, value string }{{"from", from}, {"to", to}} {
			at, err := time.Parse(time.RFC3339, flag.value)
			if err != nil {
				return intent.Errorf(intent.CodeUsage, "--%s takes a moment such as 2026-03-01T00:00:00Z, not %q", flag.name, flag.value)
			}
			between[i] = at
		}
		return client.BackfillSchedule(ctx, tenant, name, between[0], between[1])
	})
}

func newScheduleDeleteCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete NAME",
		Short:   "End a schedule",
		Long:    "Ends a schedule. The intents that it asked for are not touched.",
		Example: `  writ schedule delete nightly-purge`,
	}
	return oneSchedule(p, cmd, "deleted", func(ctx context.Context, client *writ.Client, tenant, name string) error {
		return client.DeleteSchedule(ctx, tenant, name)
	})
}
