package install

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ringfence.dev/ringfence/internal/policy/agent"
)

// State says whether a shadow is what the name leads to.
type State struct {
	Shadow
	Stands bool   `json:"stands"`           // the file is ours
	First  string `json:"first"`            // what the name leads to, by PATH
	Active bool   `json:"active"`           // that is the shadow
	Advice string `json:"advice,omitempty"` // what to do if it is not
}

// State looks whether a shadow stands, and where PATH leads.
func (s Shadow) State(path string) State {
	st := State{Shadow: s, First: first(path, s.Name)}
	d, err := openDir(s.Dir)
	if err == nil {
		defer d.close()
		w, _, err := d.look(s.Name)
		st.Stands = err == nil && w == ours
	}
	st.Active = st.Stands && st.First == s.String()
	switch {
	case !st.Stands:
		st.Advice = "something else stands there: ringfence install " + s.Agent
	case !st.Active:
		st.Advice = fmt.Sprintf("put this at the end of your shell's start-up file: export PATH=%q:\"$PATH\"", s.Dir)
	}
	return st
}

// first is where a shell finds a name. Entries that are not absolute are passed over:
// they mean another directory at every step.
func first(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// startFiles are where shells of a person read aliases from.
var startFiles = []string{".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".aliases", ".config/fish/config.fish"}

// Aliases lists the lines of a person's start-up files that give the name another
// meaning, which goes before PATH.
func Aliases(home, name string) []string {
	var out []string
	for _, rel := range startFiles {
		f, err := os.OpenFile(filepath.Join(home, rel), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would be waited for
		if err != nil {
			continue
		}
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			f.Close()
			continue
		}
		scan := bufio.NewScanner(f)
		for n := 1; scan.Scan() && n < 10000; n++ {
			line := strings.TrimSpace(scan.Text())
			for _, form := range []string{"alias " + name + "=", "alias " + name + " ", name + "()", name + " ()", "function " + name} {
				if rest, ok := strings.CutPrefix(line, form); ok && (form != "function "+name || rest == "" || strings.IndexAny(rest[:1], " ({") == 0) {
					out = append(out, fmt.Sprintf("~/%s:%d", rel, n))
					break
				}
			}
		}
		f.Close()
	}
	return out
}

// Real is where an agent itself is found, never a shadow; "" if nowhere.
func Real(p *agent.Profile, path, home string) string {
	b, err := p.Find(agent.Query{Path: path, Home: home, Dir: "/", Look: agent.Host()})
	if err != nil {
		return ""
	}
	return b.Path
}
