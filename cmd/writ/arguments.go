package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group returns a command that only holds others. Without arguments it shows its help.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		// Cobra's own rule lets a misspelled subcommand pass and shows the help with status 0.
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// How many letters may differ in what is suggested.
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(commands...)
	return cmd
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("there is no command %q", cmd.CommandPath()+" "+args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s", err, strings.Join(near, " or "))
	}
	return err
}

// noneEmpty refuses a flag that was given and is empty, as a script's unset variable leaves it: what
// was meant is not the default. It looks at the flags of these names, or at all.
func noneEmpty(flags *pflag.FlagSet, names ...string) (err error) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && flag.Value.String() == "" && (len(names) == 0 || slices.Contains(names, flag.Name)) && err == nil {
			err = usage("--%s is empty; give it a value, or leave it out", flag.Name)
		}
	})
	return err
}

// formAmong returns the form of the answer that a command line asks for which was not
// understood, perhaps before its --output was read; "" if it names none.
func formAmong(args []string) (form string) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		switch name, value, inside := strings.Cut(arg, "="); {
		case inside && (name == "-o" || name == "--output"):
			form = value
		case (arg == "-o" || arg == "--output") && i+1 < len(args):
			form = args[i+1]
		case strings.HasPrefix(arg, "-o"):
			form = strings.TrimPrefix(arg, "-o")
		}
	}
	return form
}

// one is the rule of a command that takes one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes one %s and was given %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// none is the rule of a command that takes no argument.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument and was given %q", cmd.CommandPath(), args[0])
	}
	return nil
}
