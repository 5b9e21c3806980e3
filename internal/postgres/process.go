package postgres

import (
	"os"
	"os/exec"
	"strings"
	"syscall"

	"writ/internal/child"
)

// shutdown is how PostgreSQL is asked for a fast shutdown, also when it has
// lost its parent.
const shutdown = syscall.SIGINT

// immediateShutdown is how PostgreSQL is asked to end without a checkpoint.
const immediateShutdown = syscall.SIGQUIT

// command prepares a program of PostgreSQL. Its environment leaves out what
// would change the program's behaviour behind our back (PGDATA, PGPORT,
// locales), and its working folder is one that its user may enter.
func command(program, dir string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") && !strings.HasPrefix(variable, "LANG") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	// Messages in English, since port and lock conflicts are recognized by them.
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	return cmd
}

// spawn starts the command as the account.
func spawn(cmd *exec.Cmd, runAs account) (*child.Process, error) {
	if runAs.switched {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: runAs.uid, Gid: runAs.gid},
		}
	}
	return child.Start(cmd, shutdown)
}
