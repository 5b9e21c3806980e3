package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the operating system's user that the server runs as.
type account struct {
	name     string
	uid, gid uint32
	switched bool // it is another user than ours
}

// chooseAccount returns our own user, or, for root, the owner of the cluster
// when there is one already, else "postgres", else "nobody".
func chooseAccount(pgdata string) (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}, nil
	}
	if info, err := os.Stat(pgdata); err == nil {
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 0 {
			return account{name: userName(owner.Uid), uid: owner.Uid, gid: owner.Gid, switched: true}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return account{name: name, uid: uint32(uid), gid: uint32(gid), switched: true}, nil
		}
	}
	return account{}, &Error{
		code: CodeNoUnprivilegedUser,
		message: "PostgreSQL refuses to run as root and there is no user postgres or nobody to run it as: " +
			"create one, or start this program as an ordinary user",
	}
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if found, err := user.LookupId(id); err == nil {
		return found.Username
	}
	return id
}

// mayTraverse reports whether the account may pass through the folder, judged
// by its mode alone.
func (a account) mayTraverse(info fs.FileInfo) bool {
	owner := info.Sys().(*syscall.Stat_t)
	switch {
	case owner.Uid == a.uid:
		return info.Mode()&0o100 != 0
	case owner.Gid == a.gid:
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}

// checkReachable returns an error that names the first folder above dir which
// bars the account's way. Folders that do not exist yet don't.
func (a account) checkReachable(dir string) error {
	if !a.switched {
		return nil
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return a.checkReachable(filepath.Dir(dir))
	}
	if err != nil {
		return fmt.Errorf("resolve %s: %w", dir, err)
	}
	for {
		info, err := os.Stat(resolved)
		if err != nil {
			return fmt.Errorf("look at %s: %w", resolved, err)
		}
		if !a.mayTraverse(info) {
			return &Error{
				code: CodeDataDirUnreachable,
				message: fmt.Sprintf("started by root, PostgreSQL runs as user %s, who cannot enter %s: "+
					"choose a data folder that this user can reach, such as one under /var/lib", a.name, resolved),
			}
		}
		parent := filepath.Dir(resolved)
		if parent == resolved {
			return nil
		}
		resolved = parent
	}
}

// give makes the account the owner of path.
func (a account) give(path string) error {
	if !a.switched {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}
