package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// runReport is what a run of writ-dev found: it can be printed, and says whether the run held what
// it has to show.
type runReport interface {
	Print(io.Writer) error
	Verdict() error
}

// printVerdict writes the report in the form that was asked for, see outputForm, and returns its
// verdict.
func printVerdict(command *cobra.Command, output string, report runReport) error {
	var err error
	if output == "json" {
		err = json.NewEncoder(command.OutOrStdout()).Encode(report)
	} else {
		err = report.Print(command.OutOrStdout())
	}
	return errors.Join(err, report.Verdict())
}

// checkProgram returns a usageError unless there is a program at the path that the flag names.
func checkProgram(flag, path string) error {
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return usageError{fmt.Errorf("there is no program %s: build it with 'make build', or name it with %s", path, flag)}
	}
	return nil
}
