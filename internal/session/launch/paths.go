package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// WriteWhole writes a file of our state, and makes its directory.
func WriteWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Replace(path, data, 0o600)
}

// Unalias returns path as it is called from home, where a bind mount gives it a
// second name: by the inode of a directory above it, or of one above home.
func Unalias(path, home string) string {
	for dir := path; dir != "/"; dir = filepath.Dir(dir) {
		if dir != home && sameDir(dir, home) {
			return home + path[len(dir):]
		}
	}
	for dir := home; dir != "/"; dir = filepath.Dir(dir) {
		if dir != path && sameDir(path, dir) {
			return dir
		}
	}
	return path
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil || !x.IsDir() {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func Raws(in []string) []plan.Raw {
	out := make([]plan.Raw, len(in))
	for i, s := range in {
		out[i] = plan.Raw(s)
	}
	return out
}

// ReadIfPresent reads a small file of the user's; absence is not an error.
func ReadIfPresent(path string, max int64) ([]byte, error) {
	data, err := file.Read(path, max, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// RefuseCredentials refuses a path in which the catalogue knows credentials,
// unless --expose names them.
func (b Base) RefuseCredentials(path, why string) error {
	var expose []string
	for _, r := range b.Policy.Files.Expose {
		expose = append(expose, policy.Expand(r.Value, b.User.Home))
	}
	found := b.CredentialsIn(path, expose)
	if len(found) == 0 {
		return nil
	}
	var list strings.Builder
	for _, f := range found {
		fmt.Fprintf(&list, "\n  %s  (%s)", plan.Show(f.Path), f.Entry.What)
	}
	return fault.New(fault.Refused, fmt.Sprintf("name a narrower path, or add --expose %s if the agent must have it", plan.Show(found[0].Path)),
		"%s: %q holds credentials:%s", why, path, list.String())
}

// CredentialsIn lists those of the catalogue that a path would show.
func (p Person) CredentialsIn(path string, expose []string) []knownsecrets.Finding {
	for _, home := range p.Homes() {
		if found := knownsecrets.Under(home, Unalias(path, home), expose); len(found) > 0 {
			return found
		}
	}
	return nil
}

// UnderNothing are trees in which nothing can be a workspace: proc and sys are
// not files, /dev and /run hold sockets and devices.
var UnderNothing = []string{"/proc", "/sys", "/dev", "/run", "/boot", plan.Own}

func Identity(st fs.FileInfo) plan.Identity {
	s := st.Sys().(*syscall.Stat_t)
	return plan.Identity{Dev: s.Dev, Ino: s.Ino}
}

// Cause strips the path from an error that is about to be shown with its path.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// AllCredentials lists them whatever is exposed.
func (p Person) AllCredentials(path string) []knownsecrets.Finding { return p.CredentialsIn(path, nil) }

// SecretVariable holds for the name of a variable that has a secret.
func SecretVariable(name string) bool {
	e, ok := knownsecrets.Env(name)
	return ok && e.Class == knownsecrets.Secret
}
