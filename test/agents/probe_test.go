package agents

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// probeFunctions complain of what should not be; they change nothing that lasts.
const probeFunctions = `
absent()  { if [ -e "$1" ] || [ -L "$1" ]; then echo "present: $1"; fi; }
covered() { if [ -s "$1" ]; then echo "not covered: $1"; fi; }
shown()   { grep -qF -e "$mark" "$1" || echo "not shown: $1"; }
fixed()   { if ( : >>"$1" ) 2>/dev/null; then echo "writable: $1"; fi; }
state()   { said=$(cat "$1/session" 2>/dev/null || echo none); [ "$said" = "$2" ] || echo "state: $said"; }
secrets() { grep -rlsF -f canary.txt --exclude-dir=src "$HOME" /etc | sed 's/^/canary: /'; }
environ() { if env | grep -qF -f canary.txt; then echo "environment: canary"; fi; }
`

// probe is a script that looks for all that must not be found, and for what must.
// It writes to a file beside it as well, which no agent can shorten.
func (p *person) probe(other, kept string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "mark=%s\n%slook() {\n", p.mark, probeFunctions)
	for _, files := range []map[string]string{p.agent.hidden, hiddenFromAll} {
		for path := range files {
			fmt.Fprintf(&b, "absent %q\n", filepath.Join(p.home, path))
		}
	}
	fmt.Fprintf(&b, "absent %q\nsecrets\nenviron\n", other)
	for path := range p.agent.shown {
		fmt.Fprintf(&b, "shown %[1]q\nfixed %[1]q\n", filepath.Join(p.home, path))
	}
	for path := range p.agent.masked {
		fmt.Fprintf(&b, "covered %q\nfixed %q\n", filepath.Join(p.home, path), p.beside(path))
	}
	for path := range p.agent.carried {
		fmt.Fprintf(&b, "shown %q\n", filepath.Join(p.home, path))
	}
	if kept == "" {
		kept = "none"
	}
	dir := filepath.Join(p.home, p.agent.state)
	fmt.Fprintf(&b, "state %q %s\n", dir, kept)
	fmt.Fprintln(&b, `echo "probed by $(id -u) on $(uname -n)"`)
	fmt.Fprintf(&b, "}\nlook >probe.txt 2>&1\ncat probe.txt\n")
	// Only the sandbox's own HOME takes what is written here.
	fmt.Fprintf(&b, "if [ -n \"$RINGFENCE\" ]; then mkdir -p %[1]q; echo kept >%[1]q/session; fi\n", dir)
	return b.String()
}

// beside is a file that is not there, next to one that is.
func (p *person) beside(path string) string { return filepath.Join(p.home, filepath.Dir(path), "new") }

// snapshot lists all files under HOME with a digest of each, but not the projects
// and ringfence's own state.
func (p *person) snapshot(t *testing.T) []string {
	var list []string
	err := filepath.WalkDir(p.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, p.home)
		switch {
		case rel == "/src" || rel == "/.local/state/ringfence":
			return fs.SkipDir
		case e.Type().IsRegular():
			data, err := os.ReadFile(path)
			list = append(list, fmt.Sprintf("%s %x", rel, sha256.Sum256(data)))
			return err
		case rel == "/.local" || rel == "/.local/state": // made for ringfence
			return nil
		}
		list = append(list, rel+" "+e.Type().String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
