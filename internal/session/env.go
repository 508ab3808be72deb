package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
)

// ProjectEnv is the project's env file; it takes trust like its policy.
const ProjectEnv = ".ringfence.env"

const maxEnvFile = 256 << 10

// environment builds the environment from nothing.
func (s *Session) environment(total Contribution) (out Contribution, err error) {
	base := total.env
	for _, v := range []struct{ name, value string }{
		{"HOME", s.User.Home}, {"USER", s.User.Name}, {"LOGNAME", s.User.Name}, {"SHELL", s.User.Shell},
		{"PATH", total.path}, {"PWD", s.dir}, {"TMPDIR", "/tmp"},
		{"XDG_RUNTIME_DIR", fmt.Sprintf("/run/user/%d", s.User.UID)}, {"RINGFENCE", s.ID},
	} {
		base = append(base, policy.Setting{Name: v.name, Value: v.value, Source: policy.Source{File: "ringfence"}})
	}
	pol := s.Policy.Env
	for _, v := range s.Profile.Settings(NotePath, s.User.UID) {
		base = append(base, policy.Setting{Name: v.Name, Value: v.Value, Source: policy.Source{File: "agent " + s.Profile.Name}})
	}
	for _, name := range s.Profile.Env.Pass {
		pol.Pass = append(pol.Pass, policy.Rule{Value: name, Source: policy.Source{File: "built-in"}})
	}
	files, err := s.envFiles()
	if err != nil {
		return out, err
	}
	s.envInput = environ.Input{Launcher: s.asked.Environ, Base: base, Policy: pol, Files: files, Flags: s.asked.Env, Force: s.asked.ForceEnv}
	s.Env, err = environ.Build(s.envInput)
	// What the user asked for and the launcher does not have.
	for _, e := range s.Env.Of(environ.Dropped) {
		if strings.HasPrefix(e.Source.File, "flag ") {
			out.warn(fmt.Sprintf("%s %s: %s", e.Source.File, e.Name, e.Reason))
		}
	}
	return out, err
}

func (s *Session) envFiles() ([]environ.File, error) {
	var out []environ.File
	user := filepath.Join(s.dirs.Config, "env")
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
	data, digest, err := ReadProjectEnv(s.Workspaces[0].Path)
	if err != nil || data == nil {
		return out, err
	}
	set, err := environ.ParseFile(bytes.NewReader(data), filepath.Join(s.Workspaces[0].Path, ProjectEnv))
	if err != nil {
		return nil, err
	}
	ok, err := s.trusted(ProjectEnv, digest)
	if err != nil {
		return nil, err
	}
	for _, v := range set {
		if !ok {
			s.Ignored = append(s.Ignored, policy.Change{Section: "env", Key: "set", Value: v.Name, Source: policy.Source{File: ProjectEnv, Line: v.Source.Line}})
		}
	}
	return append(out, environ.File{Settings: set, Trusted: ok}), nil
}

// ReadProjectEnv reads the project's env file once, without following a link that
// the project may have planted, and digests those same bytes.
func ReadProjectEnv(root string) (data []byte, digest string, err error) {
	name := filepath.Join(root, ProjectEnv)
	data, err = file.Read(name, maxEnvFile, unix.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
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
