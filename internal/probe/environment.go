package probe

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// environment looks for the canary under any name: a list of forbidden names
// would not stop it under an innocent one.
func environment(t *Target) Result {
	const name = "env"
	env := os.Environ()
	for _, e := range env {
		if t.carries([]byte(e)) {
			n, _, _ := strings.Cut(e, "=")
			return open(name, "the canary is the value of %q", n)
		}
	}
	return closed(name, "%d variables without it", len(env))
}

// names wants none of the launcher's names, whatever their values.
func names(t *Target) Result {
	const name = "env-names"
	for _, n := range t.Names {
		if _, set := os.LookupEnv(n); set {
			return open(name, "%q is set", n)
		}
	}
	return closed(name, "%d names are not set", len(t.Names))
}

// gitConfig wants git to be pointed at a config that has nothing of the host's
// but an identity, and that cannot be changed.
func gitConfig(t *Target) Result {
	const name = "gitconfig"
	if r := nothing(name)(t); r.Open {
		return r
	}
	file := os.Getenv("GIT_CONFIG_GLOBAL")
	if file == "" {
		return open(name, "GIT_CONFIG_GLOBAL is not set: git reads whatever lies in HOME")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return open(name, "%v", err)
	}
	if line := dangerous(string(b)); line != "" {
		return open(name, "the config says %q", line)
	}
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return open(name, "%q can be written", file)
	}
	return closed(name, "curated and read-only")
}

// dangerous returns the first line of a git config that names a program, another
// file or another server. An empty credential helper names none.
func dangerous(config string) string {
	words := []string{"[include", "[url", "[alias", "[filter", "[credential \"", "helper", "sshcommand", "hookspath", "fsmonitor",
		"askpass", "pager", "editor", "program", "textconv"}
	for line := range strings.Lines(config) {
		line = strings.ToLower(strings.TrimSpace(line))
		if line == `helper = ""` {
			continue
		}
		for _, w := range words {
			if strings.HasPrefix(line, w) {
				return line
			}
		}
	}
	return ""
}
