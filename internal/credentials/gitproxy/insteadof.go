package gitproxy

import "strings"

// InsteadOf returns lines of git's configuration that lead all ways to a host to
// self. Of two that fit, git takes the longer one.
func InsteadOf(self, host string) []string {
	out := []string{`[url "` + strings.TrimSuffix(self, "/") + `/"]`}
	for _, way := range []string{
		"https://" + host + "/", "http://" + host + "/", "git://" + host + "/",
		"ssh://git@" + host + "/", "ssh://git@" + host + ":22/", "ssh://" + host + "/",
		"git+ssh://git@" + host + "/", "git+https://" + host + "/",
		"git@" + host + ":", "git@" + host + ":/",
	} {
		out = append(out, "\tinsteadOf = "+way)
	}
	return out
}
