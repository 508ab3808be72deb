package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// files plants the secret files and says, check by check, what must not be found:
// the canary, and what a real machine has at its well-known places.
func (p *plant) files(home string, shown []string) error {
	person := filepath.Join(p.state, "person") // has what a home directory has
	for _, f := range []struct {
		check   string
		planted []string
		known   []string // besides
	}{
		{"home", in(p.state, "secret"), in(home, ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh",
			".git-credentials", ".bash_history", ".password-store", ".local/share/keyrings")},
		{"runtime", in(p.runtime, "secret"), nil},
		{"secrets", in(p.runtime, clusterToken), []string{"/run/secrets", "/var/run/secrets", "/run/credentials"}},
		{"netrc", in(person, ".netrc"), in(home, ".netrc", "_netrc")},
		{"xauthority", in(person, ".Xauthority"), append(in(home, ".Xauthority", ".ICEauthority"), "/tmp/.X11-unix")},
		{"gitconfig", in(person, ".gitconfig"), append(in(home, ".gitconfig", ".config/git/config", ".git-credentials"), "/etc/gitconfig")},
		{"browser", in(person, ".config/google-chrome/NativeMessagingHosts/host.json"), in(home, ".config/google-chrome", ".config/chromium",
			".config/microsoft-edge", ".config/BraveSoftware", ".mozilla")},
		{"etc", nil, []string{"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/docker", "/etc/kubernetes", "/etc/ringfence"}},
		{"tmp", append(in(p.tmp, "secret"), in(p.varTmp, "secret")...), nil},
		{"shm", in(p.shm, "secret"), nil},
		{"", in(p.sibling, "secret"), nil},
	} {
		for _, name := range f.planted {
			if err := p.secret(name); err != nil {
				return err
			}
		}
		known := slices.DeleteFunc(f.known, func(k string) bool {
			i := slices.IndexFunc(shown, func(s string) bool { return file.Within(s, k) || file.Within(k, s) })
			if i >= 0 {
				p.allowed[f.check] = fmt.Sprintf("policy shows %q", shown[i])
			}
			return i >= 0
		})
		if f.check != "" {
			p.places[f.check] = probe.Place{Files: paths(slices.Concat(f.planted, known))}
		}
	}
	p.standIn["secrets"] = "a directory in " + filepath.Dir(p.runtime) + " stands for /run/secrets"
	return nil
}

// in joins names to a directory; without one there is nothing to name.
func in(dir string, names ...string) (out []string) {
	if dir == "" {
		return nil
	}
	for _, n := range names {
		out = append(out, filepath.Join(dir, n))
	}
	return out
}

func (p *plant) secret(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	text := p.canary + "\n"
	if filepath.Base(name) == ".gitconfig" {
		text = "[credential]\n\thelper = store --file " + p.canary + "\n"
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

// environment is the launcher's own with secrets in it: one under an innocent
// name, the rest under names that carry secrets, lead to sockets or make programs
// load code.
func (p *plant) environment(base, passed []string) {
	person := filepath.Join(p.state, "person")
	set := map[string]string{
		"EDITION_" + strings.ToUpper(p.id): p.canary,
		"AWS_SECRET_ACCESS_KEY":            p.canary,
		"GITHUB_TOKEN":                     p.canary,
		"DATABASE_URL":                     "postgres://user:" + p.canary + "@localhost/db",
		"MYSQL_PWD":                        p.canary,
		"NETRC":                            filepath.Join(person, ".netrc"),
		"XAUTHORITY":                       filepath.Join(person, ".Xauthority"),
		"KUBECONFIG":                       filepath.Join(p.state, "secret"),
		"SSH_AUTH_SOCK":                    filepath.Join(p.tmp, agentSocket),
		"DOCKER_HOST":                      "unix://" + filepath.Join(p.runtime, engineSocket),
		"CONTAINER_HOST":                   "unix://" + filepath.Join(p.runtime, engineSocket),
		"CONTAINERD_ADDRESS":               filepath.Join(p.runtime, engineSocket),
		"AWS_WEB_IDENTITY_TOKEN_FILE":      filepath.Join(p.runtime, clusterToken),
		"KUBERNETES_SERVICE_HOST":          "127.0.0.1",
		"KUBERNETES_SERVICE_PORT":          "443",
		"DBUS_SESSION_BUS_ADDRESS":         "unix:path=" + filepath.Join(p.runtime, busSocket),
		"VSCODE_IPC_HOOK_CLI":              filepath.Join(p.tmp, vscodeSocket),
		"BASH_ENV":                         filepath.Join(p.state, "secret"),
		"PYTHONSTARTUP":                    filepath.Join(p.state, "secret"),
		"LD_BIND_NOW":                      "1",
		"NODE_OPTIONS":                     "--no-deprecation",
		"GIT_SSH_COMMAND":                  "false",
		"BASH_FUNC_canary%%":               "() { :; }",
	}
	for _, name := range passed {
		if set[name] != "" {
			delete(set, name)
			p.allowed["env-names"] = fmt.Sprintf("policy passes %q", name)
		}
	}
	for _, e := range base {
		if name, _, ok := strings.Cut(e, "="); ok && set[name] == "" && name != "GIT_CONFIG_GLOBAL" {
			p.environ = append(p.environ, e)
		}
	}
	for name, value := range set {
		p.environ = append(p.environ, name+"="+value)
		p.names = append(p.names, name)
	}
	slices.Sort(p.names)
	p.environ = append(p.environ, "GIT_CONFIG_GLOBAL="+filepath.Join(person, ".gitconfig"))
	for check, names := range map[string][]string{"netrc": {"NETRC"}, "xauthority": {"XAUTHORITY"}, "home": {"KUBECONFIG"},
		"sockets": {"SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DOCKER_HOST", "CONTAINER_HOST", "CONTAINERD_ADDRESS"}, "secrets": {"AWS_WEB_IDENTITY_TOKEN_FILE"}, "dbus": {"DBUS_SESSION_BUS_ADDRESS"},
		"vscode": {"VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "REMOTE_CONTAINERS_IPC"}} {
		place := p.places[check]
		place.Env = names
		p.places[check] = place
	}
}

// clusterToken is where a pod has what it shows to the API of its cluster.
const clusterToken = "secrets/kubernetes.io/serviceaccount/token"

// The sockets, by the names that such sockets have.
const (
	agentSocket  = "agent.sock"
	engineSocket = "docker.sock"
	busSocket    = "bus"
	vscodeSocket = "vscode-ipc-canary.sock"
	bridgeSocket = "claude-mcp-browser-bridge"
)

// socketPlaces says which sockets must not be found, besides the planted ones.
func (p *plant) socketPlaces() {
	uid := fmt.Sprintf("/run/user/%d/", os.Geteuid())
	for check, place := range map[string]probe.Place{
		"vscode": {Sockets: paths([]string{filepath.Join(p.tmp, vscodeSocket)}), Globs: paths([]string{"/tmp/vscode-*.sock", uid + "vscode-*.sock"})},
		"dbus":   {Sockets: paths([]string{filepath.Join(p.runtime, busSocket)}), Files: paths([]string{"/run/dbus", uid + "bus", uid + "systemd"})},
		"sockets": {Sockets: paths([]string{filepath.Join(p.tmp, agentSocket), filepath.Join(p.runtime, engineSocket)}),
			Files: paths([]string{"/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/cri-dockerd.sock", "/run/k3s", "/run/buildkit",
				"/run/systemd", uid + "gnupg", uid + "keyring", uid + "podman", uid + "docker.sock"})},
		"browser": {Sockets: paths([]string{filepath.Join(p.tmp, bridgeSocket)}), Globs: paths([]string{"/tmp/" + bridgeSocket + "*"}),
			Files: p.places["browser"].Files},
	} {
		p.places[check] = place
	}
}

func paths(in []string) []probe.Path {
	out := make([]probe.Path, len(in))
	for i, s := range in {
		out[i] = probe.Path(s)
	}
	return out
}
