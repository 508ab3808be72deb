package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A launch is one command line in one kind of project.
type launch struct {
	name     string
	projects string   // archives of testdata/project, beside base
	dir      string   // where the user stands, below HOME; ~/project if empty
	env      []string // more variables
	before   string   // a command of ringfence before it
	args     string   // without --dry-run=json
}

// text runs it and writes down all it says.
func (l launch) text(t *testing.T, r role) string {
	t.Helper()
	p := newPlace(t, r, append([]string{"base"}, strings.Fields(l.projects)...)...)
	if l.dir != "" {
		p.dir = filepath.Join(home, l.dir)
	}
	p.env = append(p.env, l.env...)
	if l.before != "" {
		if _, talk, code := p.ringfence(strings.Fields(l.before)...); code != 0 {
			t.Fatalf("ringfence %s: %d\n%s", l.before, code, talk)
		}
	}
	words := strings.Fields(l.args)
	dry := func(form string) (string, string) {
		out, talk, code := p.ringfence(append([]string{words[0], "--dry-run=" + form}, words[1:]...)...)
		if code != 0 {
			t.Fatalf("ringfence %s: %d\n%s", l.args, code, talk)
		}
		return out, talk
	}
	plan, talk := dry("json")
	script, _ := dry("bwrap")
	var b strings.Builder
	fmt.Fprintf(&b, "$ ringfence %s\n", l.args)
	for line := range strings.Lines(facts{role: r}.replace(talk)) {
		b.WriteString("said " + line)
	}
	out, names := planText(t, r, plan)
	values, valued := variables(r, script)
	if !slices.Equal(names, valued) {
		t.Errorf("variables %q in JSON, %q for bubblewrap", names, valued)
	}
	return b.String() + out + values
}

// variables are those of the agent with their values, which only this form of
// the plan has, and their names.
func variables(r role, script string) (lines string, names []string) {
	for _, arg := range strings.Split(script, " \\\n  --") {
		if strings.HasPrefix(arg, "setenv ") {
			lines += facts{role: r}.replace(arg) + "\n"
			names = append(names, strings.Fields(arg)[1])
		}
	}
	return lines, names
}

func TestLaunches(t *testing.T) {
	for _, l := range launches {
		t.Run(l.name, func(t *testing.T) { golden(t, "launch/"+l.name+".txt", l.text) })
	}
	if *update && self() == root {
		writeTexts(t)
	}
}

// writeTexts writes the longer files of plans, and removes those that no plan has.
func writeTexts(t *testing.T) {
	if err := os.RemoveAll(textDir); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		writeFile(t, filepath.Join(textDir, name), text)
	}
}
