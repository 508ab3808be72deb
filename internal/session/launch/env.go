package launch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// ProjectEnv is the project's env file; it takes trust like its policy.
const ProjectEnv = ".ringfence.env"

// MaxEnvFile bounds an env file.
const MaxEnvFile = 256 << 10

// ReadProjectEnv reads the project's env file once, without following a link that
// the project may have planted, and digests those same bytes.
func ReadProjectEnv(root string) (data []byte, digest string, err error) {
	name := filepath.Join(root, ProjectEnv)
	data, err = file.Read(name, MaxEnvFile, unix.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// userEnv is the user's own env file.
func (b *Base) userEnv() ([]policy.Setting, error) {
	name := filepath.Join(b.Dirs.Config, "env")
	data, err := ReadIfPresent(name, MaxEnvFile)
	if err != nil || data == nil {
		return nil, err
	}
	return environ.ParseFile(bytes.NewReader(data), name)
}

// EnvFiles are the user's env file, without what the broker has of it, and the project's,
// which counts if it is trusted.
func (b *Base) EnvFiles() ([]environ.File, error) {
	var out []environ.File
	own, err := b.userEnv()
	if err != nil {
		return nil, err
	}
	if own != nil && !b.Policy.PlainEnv() {
		own = slices.DeleteFunc(own, func(v policy.Setting) bool { return b.Holds(v.Name) })
		out = append(out, environ.File{Settings: own, Trusted: true})
	}
	data, digest, err := ReadProjectEnv(b.Workspaces[0].Path)
	if err != nil || data == nil {
		return out, err
	}
	set, err := environ.ParseFile(bytes.NewReader(data), filepath.Join(b.Workspaces[0].Path, ProjectEnv))
	if err != nil {
		return nil, err
	}
	ok, err := b.Trusted(ProjectEnv, digest)
	if err != nil {
		return nil, err
	}
	b.unignored(set)
	return append(out, environ.File{Settings: set, Trusted: ok}), nil
}

// holdKeys gives keys of models and sources of secrets that stand in the user's env file to
// the broker, as if the launcher had them in its environment: inside there is a phantom.
// What the launcher has comes first. A project's file has none to give: a session would run
// on its author's account.
func (b *Base) holdKeys() error {
	set, err := b.userEnv()
	for _, v := range set {
		if !SecretVariable(v.Name) || b.Holds(v.Name) || !b.takesKey(v.Name) {
			continue
		}
		b.held = append(b.held, v.Name)
		if b.Getenv(v.Name) == "" {
			b.filed = append(b.filed, v.Name)
			b.Asked.Environ = append(slices.Clone(b.Asked.Environ), v.Name+"="+v.Value)
		}
	}
	if err == nil {
		_, err = b.EnvFiles() // for what is to be said of the project's
	}
	return err
}

// Filed reports whether the value of a variable is that of the user's env file. A variable
// that says where requests go was not written with it.
func (b *Base) Filed(name string) bool { return slices.Contains(b.filed, name) }

// Holds reports whether a name of an env file is with the broker.
func (b *Base) Holds(name string) bool { return slices.Contains(b.held, name) }

// takesKey holds for a variable that the broker reads on the host, for this agent or for
// another: a file that all of them share stops none of them.
func (b *Base) takesKey(name string) bool {
	names, err := agent.Names(b.AgentsDir())
	if err != nil {
		names = nil
	}
	for _, n := range names {
		p, err := agent.Load(n, b.AgentsDir())
		for i := 0; err == nil && i < len(p.Models); i++ {
			if slices.ContainsFunc(p.Models[i].Keys, func(k agent.Key) bool { return k.Env == name }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(b.Policy.SecretsOn(), func(s policy.Secret) bool { return s.From.Text() == "env:"+name })
}

// unignored tells of a project's env file that git would take in with the secrets in it.
func (b *Base) unignored(set []policy.Setting) {
	if b.Repo == nil || !slices.ContainsFunc(set, func(v policy.Setting) bool {
		return SecretVariable(v.Name) && !knownsecrets.NoPassword(v.Name, v.Value)
	}) {
		return
	}
	data, err := file.Read(filepath.Join(b.Workspaces[0].Path, ".gitignore"), MaxEnvFile, unix.O_NOFOLLOW)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return
	}
	for line := range strings.Lines(string(data)) {
		if ok, err := path.Match(strings.TrimPrefix(strings.TrimSpace(line), "/"), ProjectEnv); err == nil && ok {
			return
		}
	}
	note := ProjectEnv + " holds a secret and .gitignore does not name it: echo " + ProjectEnv + " >>.gitignore"
	if !slices.Contains(b.Said.Notices, note) {
		b.Said.Notice(note)
	}
}

// Umask reads the launcher's umask; there is no call that only reads it.
func Umask() int {
	m := unix.Umask(0o077)
	unix.Umask(m)
	return m
}
