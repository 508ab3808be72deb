package launch

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Where package managers of the host keep their settings. What counts more stands behind
// what counts less.

// maxClient bounds a file of such settings.
const maxClient = 256 << 10

// ClientFile reads settings of a package manager, if nobody but the user can have written
// them: what an agent can write opens nothing.
func (b Base) ClientFile(path string) ([]byte, bool) {
	if path == "" || !filepath.IsAbs(path) {
		return nil, false
	}
	data, err := file.Read(path, maxClient, 0)
	return data, err == nil && !b.AgentWrites(path)
}

// NPMVariable is a setting of npm's in the environment, however it is spelled.
func (p Person) NPMVariable(name string) string {
	for _, e := range p.Asked.Environ {
		key, value, _ := strings.Cut(e, "=")
		if strings.EqualFold(key, "npm_config_"+name) && value != "" {
			return value
		}
	}
	return ""
}

// NPMFiles are those of the node that the host would start, and the user's.
func (p Person) NPMFiles() []string {
	return []string{p.globalRC(), cmp.Or(p.NPMVariable("userconfig"), filepath.Join(p.User.Home, ".npmrc"))}
}

func (p Person) globalRC() string {
	if path := p.NPMVariable("globalconfig"); filepath.IsAbs(path) {
		return path
	}
	for _, dir := range filepath.SplitList(p.Getenv("PATH")) {
		if _, err := exec.LookPath(filepath.Join(dir, "node")); err != nil || !filepath.IsAbs(dir) {
			continue
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "node")); err == nil {
			return filepath.Join(filepath.Dir(filepath.Dir(real)), "etc/npmrc")
		}
	}
	return ""
}

// PipFiles are the places of pip.conf.
func (p Person) PipFiles() (out []string) {
	only := p.Getenv("PIP_CONFIG_FILE")
	if only == os.DevNull {
		return nil
	}
	for _, dir := range slices.Backward(filepath.SplitList(cmp.Or(p.Getenv("XDG_CONFIG_DIRS"), "/etc/xdg"))) {
		out = append(out, filepath.Join(dir, "pip/pip.conf"))
	}
	out = append(out, "/etc/pip.conf", filepath.Join(p.User.Home, ".pip/pip.conf"), filepath.Join(p.ConfigHome(), "pip/pip.conf"))
	for _, dir := range []string{p.Getenv("VIRTUAL_ENV"), p.Getenv("CONDA_PREFIX")} {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, "pip.conf"))
		}
	}
	if filepath.IsAbs(only) {
		out = append(out, only)
	}
	return out
}

// CargoHome is where cargo on the host keeps its files.
func (p Person) CargoHome() string {
	if h := p.Getenv("CARGO_HOME"); filepath.IsAbs(h) {
		return h
	}
	return filepath.Join(p.User.Home, ".cargo")
}
