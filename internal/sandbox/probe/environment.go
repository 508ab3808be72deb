package probe

import (
	"os"
	"slices"
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
// file or another server. An empty credential helper names none, and neither does a
// section that leads the ways to a host to that host by HTTPS.
func dangerous(config string) string {
	words := []string{"[include", "[url", "[alias", "[filter", "[credential \"", "helper", "sshcommand", "hookspath", "fsmonitor",
		"askpass", "pager", "editor", "program", "textconv", "insteadof", "pushinsteadof"}
	host := ""
	for line := range strings.Lines(config) {
		line = strings.ToLower(strings.TrimSpace(line))
		if strings.HasPrefix(line, "[") {
			host = urlHost(line)
		}
		if line == `helper = ""` || host != "" && (strings.HasPrefix(line, "[") || leadsTo(line, host)) {
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

// urlHost returns the host of a section [url "https://HOST/"].
func urlHost(section string) string {
	host, ok := strings.CutPrefix(section, `[url "https://`)
	host, end := strings.CutSuffix(host, `/"]`)
	if !ok || !end || strings.ContainsAny(host, "/@:\"\\") {
		return ""
	}
	return host
}

// leadsTo holds for a line insteadOf that is about this host.
func leadsTo(line, host string) bool {
	way, ok := strings.CutPrefix(line, "insteadof = ")
	if _, rest, scheme := strings.Cut(way, "://"); scheme {
		way = rest
	}
	rest, same := strings.CutPrefix(strings.TrimPrefix(way, "git@"), host)
	return ok && same && slices.Contains([]string{"/", ":", ":/", ":22/"}, rest)
}
