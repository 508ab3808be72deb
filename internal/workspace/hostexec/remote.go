package hostexec

import "strings"

// plainURL reports whether git reaches an address by itself, with a transport that
// takes no command: https, http, ssh, host:path or a path.
func plainURL(url string) bool {
	if url == "" || !printable(url) || strings.ContainsAny(url, " \"'`$\\;|&<>") || strings.Contains(url, "::") {
		return false
	}
	for _, scheme := range []string{"https://", "http://", "ssh://"} {
		if rest, ok := strings.CutPrefix(url, scheme); ok {
			authority, tail, _ := strings.Cut(rest, "/")
			return plainHost(authority) && !strings.HasPrefix(tail, "-") && !strings.Contains(tail, "/-")
		}
	}
	if strings.Contains(url, "://") {
		return false
	}
	if strings.HasPrefix(url, "/") || strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../") {
		return !strings.Contains(url, ":") && !strings.Contains(url, "/-")
	}
	host, tail, ok := strings.Cut(url, ":")
	return ok && !strings.Contains(host, "/") && plainHost(host) && tail != "" && !strings.HasPrefix(tail, "-") && !strings.HasPrefix(tail, "/-")
}

// plainHost judges user@host:port.
func plainHost(authority string) bool {
	user, host, ok := strings.Cut(authority, "@")
	if !ok {
		user, host = "x", authority
	}
	host, port, _ := strings.Cut(host, ":")
	return word(user, ".-_~%+:") && word(host, ".-_") && only(port, "0123456789")
}

// word reports whether s begins with a letter or digit and has only such
// characters and those of more.
func word(s, more string) bool {
	for i := range len(s) {
		if c := s[i]; (lower(c) < 'a' || lower(c) > 'z') && (c < '0' || c > '9') && (i == 0 || strings.IndexByte(more, c) < 0) {
			return false
		}
	}
	return s != ""
}

func only(s, chars string) bool { return strings.Trim(s, chars) == "" }

// remoteName is a name that cannot be mistaken for an address: one of those would
// take the place of the real address wherever that is used.
func remoteName(s string) bool { return word(s, ".-_") && len(s) < 256 }

// localPath holds for an address that is a directory of this machine. git fetch --all
// would copy the repository there to where the next session reads it.
func localPath(url string) bool {
	return strings.HasPrefix(url, "/") || strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../")
}

// plainRefspec fetches branches or tags to where those of the remote belong, under the
// same name: a branch of the agent must not come as origin/main. With no remote named
// it may be any.
func plainRefspec(remote, spec string) bool {
	from, to, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	if !ok || !printable(spec) || strings.Contains(to, ":") || strings.Contains(to, "..") {
		return false
	}
	if branch, ok := strings.CutPrefix(from, "refs/heads/"); ok {
		at, ok := strings.CutPrefix(to, "refs/remotes/")
		of, name, _ := strings.Cut(at, "/")
		return ok && name == branch && (remote == "" || of == remote)
	}
	return strings.HasPrefix(from, "refs/tags/") && to == from
}
