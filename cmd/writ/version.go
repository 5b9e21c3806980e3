package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what this binary was built from.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

func newVersionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show what this binary was built from",
		Long:    "Shows the version, the revision and the Go release that this binary was built from.",
		Example: "  writ version -o json",
		Args:    none,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			return p.print(v, func(w io.Writer) { fmt.Fprintf(w, "writ %s %s %s\n", v.Version, dash(v.Revision), v.Go) })
		},
	}
}

func readVersion() version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version{Version: "unknown"}
	}
	v := version{Version: info.Main.Version, Go: info.GoVersion}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}
