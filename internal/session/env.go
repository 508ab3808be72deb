package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
)

// ProjectEnv is the project's env file; it takes trust like its policy.
const ProjectEnv = ".ringfence.env"

const maxEnvFile = 256 << 10

// environment builds the environment from nothing.
func (d *draft) environment() error {
	base := d.base
	for _, s := range []struct{ name, value string }{
		{"HOME", d.User.Home}, {"USER", d.User.Name}, {"LOGNAME", d.User.Name}, {"SHELL", d.User.Shell},
		{"PATH", d.path}, {"PWD", d.dir}, {"TMPDIR", "/tmp"},
		{"XDG_RUNTIME_DIR", fmt.Sprintf("/run/user/%d", d.User.UID)}, {"RINGFENCE", d.ID},
	} {
		base = append(base, policy.Setting{Name: s.name, Value: s.value, Source: policy.Source{File: "ringfence"}})
	}
	pol := d.Policy.Env
	for _, s := range d.Profile.Settings(NotePath, d.User.UID) {
		base = append(base, policy.Setting{Name: s.Name, Value: s.Value, Source: policy.Source{File: "agent " + d.Profile.Name}})
	}
	for _, name := range d.Profile.Env.Pass {
		pol.Pass = append(pol.Pass, policy.Rule{Value: name, Source: policy.Source{File: "built-in"}})
	}
	files, err := d.envFiles()
	if err != nil {
		return err
	}
	d.envInput = environ.Input{Launcher: d.opt.Environ, Base: base, Policy: pol, Files: files, Flags: d.opt.Env, Force: d.opt.ForceEnv}
	d.Env, err = environ.Build(d.envInput)
	d.warnAbsent()
	return err
}

// warnAbsent names what the user asked for and the launcher does not have.
func (d *draft) warnAbsent() {
	for _, e := range d.Env.Of(environ.Dropped) {
		if strings.HasPrefix(e.Source.File, "flag ") {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s %s: %s", e.Source.File, e.Name, e.Reason))
		}
	}
}

func (d *draft) envFiles() ([]environ.File, error) {
	var out []environ.File
	user := filepath.Join(d.dirs.Config, "env")
	data, err := readIfPresent(user, maxEnvFile)
	if err != nil {
		return nil, err
	}
	if data != nil {
		set, err := environ.ParseFile(bytes.NewReader(data), user)
		if err != nil {
			return nil, err
		}
		out = append(out, environ.File{Settings: set, Trusted: true})
	}
	data, digest, err := ReadProjectEnv(d.Workspaces[0].Path)
	if err != nil || data == nil {
		return out, err
	}
	set, err := environ.ParseFile(bytes.NewReader(data), filepath.Join(d.Workspaces[0].Path, ProjectEnv))
	if err != nil {
		return nil, err
	}
	ok, err := d.trusted(ProjectEnv, digest)
	if err != nil {
		return nil, err
	}
	for _, s := range set {
		if !ok {
			d.Ignored = append(d.Ignored, policy.Change{Section: "env", Key: "set", Value: s.Name, Source: policy.Source{File: ProjectEnv, Line: s.Source.Line}})
		}
	}
	return append(out, environ.File{Settings: set, Trusted: ok}), nil
}

// ReadProjectEnv reads the project's env file once, without following a link that
// the project may have planted, and digests those same bytes.
func ReadProjectEnv(root string) (data []byte, digest string, err error) {
	name := filepath.Join(root, ProjectEnv)
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, "", fmt.Errorf("%s: not a regular file", name)
	}
	if data, err = io.ReadAll(io.LimitReader(f, maxEnvFile+1)); err != nil {
		return nil, "", err
	}
	if len(data) > maxEnvFile {
		return nil, "", fmt.Errorf("%s: more than %d bytes", name, maxEnvFile)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// umask reads the launcher's umask; there is no call that only reads it.
func umask() int {
	m := unix.Umask(0o077)
	unix.Umask(m)
	return m
}
