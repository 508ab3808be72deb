package audit

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// keyChecks: private keys, and credentials that others can read.
var keyChecks = []Check{
	{ID: "AU-080", Severity: High, Title: "Others can read a private key",
		Gets: "the key, and every host that knows it", Fix: "chmod 600 {}", probe: openKeys},
	{ID: "AU-081", Severity: Medium, Title: "A private key has no passphrase",
		Gets: "every host that knows the key, from one read of a file", Fix: "ssh-keygen -p -f {}", probe: bareKeys},
	{ID: "AU-082", Severity: High, Title: "Others can read a file of credentials",
		Gets: "the credentials, for every user of this machine", Fix: "chmod 600 {}", probe: openCredentials},
	{ID: "AU-083", Severity: High, Title: "Others can write what lets people log in",
		Gets: "a login as the user", Fix: "chmod go-w {}", probe: openLogin},
	{ID: "AU-084", Severity: Medium, Title: "SSH hands its agent to every host",
		Gets: "each of those hosts logs in elsewhere as the user while the connection stands",
		Fix:  "ForwardAgent no in {}", probe: sshConfig("forwardagent", "yes")},
	{ID: "AU-085", Severity: Low, Title: "SSH takes any host key",
		Gets: "whoever is on the way is taken for the host", Fix: "StrictHostKeyChecking accept-new in {}", probe: sshConfig("stricthostkeychecking", "no")},
}

// privateKeys are the files in ~/.ssh that are private keys by their content.
func (w *World) privateKeys() (paths []string) {
	names := w.names(w.home(".ssh"))
	slices.Sort(names)
	for _, name := range names {
		path := w.home(".ssh/" + name)
		if strings.HasSuffix(name, ".pub") {
			continue
		}
		if data, err := w.read(path, 1<<16); err == nil && bytes.Contains(data, []byte("PRIVATE KEY-----")) {
			paths = append(paths, path)
		}
	}
	return paths
}

func openKeys(l *look) (hits []hit) {
	for _, path := range l.privateKeys() {
		if st, ok := l.stat(path); ok && st.Mode&0o077 != 0 {
			hits = append(hits, hit{path: path, detail: modeWords(st)})
		}
	}
	return hits
}

func bareKeys(l *look) (hits []hit) {
	for _, path := range l.privateKeys() {
		if data, err := l.read(path, 1<<16); err == nil && unlocked(data) {
			hits = append(hits, hit{path: path})
		}
	}
	return hits
}

// unlocked reports whether a private key can be used without a passphrase. What is
// not understood is taken for locked.
func unlocked(data []byte) bool {
	block, _ := pem.Decode(data)
	if block == nil {
		return false
	}
	if block.Type != "OPENSSH PRIVATE KEY" {
		return !strings.Contains(block.Type, "ENCRYPTED") && !strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED")
	}
	rest, ok := bytes.CutPrefix(block.Bytes, []byte("openssh-key-v1\x00"))
	return ok && bytes.HasPrefix(rest, []byte("\x00\x00\x00\x04none"))
}

// openCredentials asks the files that the catalogue knows, and those that lie right
// in a directory that it knows.
func openCredentials(l *look) (hits []hit) {
	keys := l.privateKeys()
	for _, f := range l.credentials() {
		files := []string{f.Path}
		if st, ok := l.stat(f.Path); ok && isDir(st) {
			if st.Mode&0o011 == 0 {
				continue // nobody gets in
			}
			files = l.inside(f.Path)
		}
		for _, path := range files {
			st, ok := l.stat(path)
			if !ok || !isRegular(st) || !l.everybody().readable(st) || slices.Contains(keys, path) {
				continue
			}
			data, err := l.read(path, maxCredential)
			if n := secretLine(data); err == nil && n > 0 {
				hits = append(hits, hit{path: path, line: n, detail: f.Entry.What + ", " + modeWords(st)})
			}
		}
	}
	return hits
}

// maxCredential is larger than any file in which people keep tokens, maxInside more
// than any directory of them has.
const (
	maxCredential = 64 << 10
	maxInside     = 64
)

// inside lists the first entries of a directory.
func (w *World) inside(dir string) (out []string) {
	names := w.names(dir)
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxInside)] {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// credentials are the catalogued files and directories of the home. Files that tools
// read at their start, and sockets, are other rows' business.
func (l *look) credentials() (out []knownsecrets.Finding) {
	for _, f := range knownsecrets.Under(l.Home, l.Home, nil) {
		switch f.Entry.Class {
		case "startup", "display", knownsecrets.Socket, "editor", "ssh", "history", "project":
			continue
		}
		out = append(out, f)
	}
	return out
}

func openLogin(l *look) (hits []hit) {
	for _, rel := range []string{".ssh", ".ssh/authorized_keys", ".ssh/config"} {
		path := l.home(rel)
		if st, ok := l.stat(path); ok && l.everybody().writable(st) {
			hits = append(hits, hit{path: path, detail: modeWords(st)})
		}
	}
	return hits
}

// sshConfig looks for a setting that holds for every host.
func sshConfig(key, value string) func(*look) []hit {
	return func(l *look) (hits []hit) {
		every := true // what stands before the first Host holds for all
		path := l.home(".ssh/config")
		l.lines(path, maxSettings, func(n int, line string) bool {
			words := strings.Fields(strings.Replace(line, "=", " ", 1))
			if len(words) < 2 || words[0][0] == '#' {
				return true
			}
			switch k := strings.ToLower(words[0]); {
			case k == "host" || k == "match":
				every = slices.Contains(words[1:], "*") || strings.EqualFold(words[1], "all")
			case k == key && every && strings.EqualFold(words[1], value):
				hits = append(hits, hit{path: path, line: n, detail: words[0] + " " + words[1]})
			}
			return true
		})
		return hits
	}
}

// base64Login is what a container tool keeps of a login.
func base64Login(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && bytes.IndexByte(b, ':') > 0
}

// glob lists the paths of a pattern below home.
func (w *World) glob(pattern string) []string {
	if !strings.Contains(pattern, "*") {
		return []string{w.home(pattern)}
	}
	dir, name := filepath.Split(pattern)
	var out []string
	names := w.names(w.home(dir))
	slices.Sort(names)
	for _, n := range names {
		if ok, _ := filepath.Match(name, n); ok {
			out = append(out, w.home(dir+n))
		}
	}
	return out
}
