package audit

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// socketChecks: processes of the host that act for whoever asks.
var socketChecks = []Check{
	{ID: "AU-120", Severity: High, Title: "Docker's socket can be used",
		Gets: "root on this machine: a container with / mounted is one command away",
		Fix:  "as root: gpasswd -d \"$USER\" docker (rootless Docker does without)", probe: engine("/run/docker.sock", "/var/run/docker.sock")},
	{ID: "AU-121", Severity: Medium, Title: "Podman's socket can be used",
		Gets: "containers with the user's files, outside of every sandbox of the agent's",
		Fix:  "systemctl --user disable --now podman.socket", probe: podman},
	{ID: "AU-122", Severity: High, Title: "A container engine is reached over the network without TLS",
		Gets: "root on the machine it runs on", Fix: "unset DOCKER_HOST, and use ssh:// instead", probe: engineTCP},
	{ID: "AU-123", Severity: Medium, Title: "The SSH agent signs for whoever asks",
		Gets: "logins to every host that knows the keys, as long as the agent runs",
		Fix:  "ssh-add -D; ssh-add -c KEY (which asks each time)", probe: sshAgent},
	{ID: "AU-124", Severity: High, Title: "An SSH agent of another machine is forwarded to this one",
		Gets: "logins as the user from here, with keys that are not even here",
		Fix:  "connect with ssh -a", probe: forwardedAgent},
	{ID: "AU-125", Severity: Low, Title: "The GnuPG agent signs and decrypts for whoever asks",
		Gets: "signatures in the user's name while the passphrase is cached",
		Fix:  "gpgconf --kill gpg-agent", probe: gpgAgent},
	{ID: "AU-126", Severity: Low, Title: "The desktop's key ring answers on the session bus",
		Gets: "every password in it while it is unlocked", Fix: "ringfence install claude (inside, there is no bus)", probe: keyRing},
	{ID: "AU-127", Severity: Low, Title: "Every program sees the keys that are typed on this display",
		Gets: "passwords as they are typed, and keystrokes into other windows: X11 does not tell clients apart",
		Fix:  "ringfence install claude (inside, there is no display)", probe: display},
	{ID: "AU-128", Severity: Low, Title: "The terminal's multiplexer takes commands from what runs in it",
		Gets: "`tmux send-keys` types into the user's other shells", Fix: "ringfence install claude (inside, there is no such socket)", probe: multiplexer},
}

// engine looks for a socket of the machine that the user can write to. The first one
// counts: the others are the same by another name.
func engine(paths ...string) func(*look) []hit {
	return func(l *look) []hit {
		for _, p := range paths {
			if st, ok := l.stat(l.at(p)); ok && isSocket(st) && l.mayConnect(st) {
				return []hit{{path: l.at(p), detail: modeWords(st)}}
			}
		}
		return nil
	}
}

// runtime is a path in the user's runtime directory.
func (w *World) runtime(rel string) string {
	dir := w.getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		dir = w.at(fmt.Sprintf("/run/user/%d", w.UID))
	}
	return filepath.Join(dir, rel)
}

func podman(l *look) []hit {
	for _, p := range []string{l.runtime("podman/podman.sock"), l.at("/run/podman/podman.sock")} {
		if st, ok := l.stat(p); ok && isSocket(st) && l.mayConnect(st) {
			return []hit{{path: p, detail: modeWords(st)}}
		}
	}
	return nil
}

func engineTCP(l *look) []hit {
	address, ok := strings.CutPrefix(l.getenv("DOCKER_HOST"), "tcp://")
	if !ok || l.getenv("DOCKER_TLS_VERIFY") != "" {
		return nil
	}
	if host, _, err := net.SplitHostPort(address); err == nil && host == "" {
		return nil
	}
	return []hit{{path: "$DOCKER_HOST"}}
}

// isForwarded: sshd makes its sockets under /tmp, for a login that says where it came
// from.
func (w *World) isForwarded(socket string) bool {
	return w.getenv("SSH_CONNECTION") != "" && strings.HasPrefix(filepath.Base(filepath.Dir(socket)), "ssh-")
}

func (l *look) agentSocket() (string, bool) {
	path := l.getenv("SSH_AUTH_SOCK")
	st, ok := l.stat(path)
	return path, ok && isSocket(st) && l.mayConnect(st)
}

func sshAgent(l *look) []hit {
	if path, ok := l.agentSocket(); ok && !l.isForwarded(path) {
		return []hit{{path: "$SSH_AUTH_SOCK"}}
	}
	return nil
}

func forwardedAgent(l *look) []hit {
	if path, ok := l.agentSocket(); ok && l.isForwarded(path) {
		return []hit{{path: "$SSH_AUTH_SOCK"}}
	}
	return nil
}

// gpgAgent matters where there is a key to use.
func gpgAgent(l *look) []hit {
	if len(l.names(l.home(".gnupg/private-keys-v1.d"))) == 0 {
		return nil
	}
	for _, p := range []string{l.runtime("gnupg/S.gpg-agent"), l.home(".gnupg/S.gpg-agent")} {
		if st, ok := l.stat(p); ok && isSocket(st) && l.mayConnect(st) {
			return []hit{{path: p}}
		}
	}
	return nil
}

func keyRing(l *look) []hit {
	st, ok := l.stat(l.runtime("bus"))
	if !ok || !isSocket(st) || !l.mayConnect(st) {
		return nil
	}
	for _, ring := range []string{".local/share/keyrings", ".local/share/kwalletd"} {
		if len(l.names(l.home(ring))) > 0 {
			return []hit{{path: l.home(ring)}}
		}
	}
	return nil
}

func display(l *look) []hit {
	if l.getenv("DISPLAY") == "" || l.getenv("WAYLAND_DISPLAY") != "" {
		return nil
	}
	return []hit{{path: "$DISPLAY"}}
}

func multiplexer(l *look) []hit {
	for _, name := range []string{"TMUX", "STY", "ZELLIJ"} {
		if l.getenv(name) != "" {
			return []hit{{path: "$" + name}}
		}
	}
	return nil
}
