package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// A launch is one command line in one kind of project.
type launch struct {
	name     string
	projects string   // archives of testdata/project, beside base
	dir      string   // where the user stands, below HOME; ~/project if empty
	env      []string // more variables
	before   string   // a command of ringfence before it
	args     string   // without --dry-run=json
	still    bool     // it is planned and not started
	mute     bool     // the other user starts it
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
	plan, script := l.plans(p)
	out, names := planText(t, r, plan)
	values, valued := variables(r, script)
	if !slices.Equal(names, valued) {
		t.Errorf("variables %q in JSON, %q for bubblewrap", names, valued)
	}
	return "$ ringfence " + l.args + "\n" + l.card(p) + out + values
}

// with is the command line with further flags.
func (l launch) with(flags ...string) []string {
	words := strings.Fields(l.args)
	return slices.Concat(words[:1], flags, words[1:])
}

// plans are two forms of the plan. A look changes nothing, so both are made at once.
func (l launch) plans(p *place) (plan, script string) {
	p.t.Helper()
	var said [2]string
	var code [2]int
	var both sync.WaitGroup
	both.Go(func() { plan, said[0], code[0] = p.ringfence(l.with("--dry-run=json")...) })
	both.Go(func() { script, said[1], code[1] = p.ringfence(l.with("--dry-run=bwrap")...) })
	both.Wait()
	for i := range code {
		if code[i] != 0 || said[i] != "" {
			p.t.Fatalf("ringfence %s: %d\n%s", l.args, code[i], said[i])
		}
	}
	return plan, script
}

// ofCard reports whether a line is of the card.
func ofCard(line string) bool {
	return strings.HasPrefix(line, "said ") || strings.HasPrefix(line, "exit ")
}

// card starts the session and is what a person is told before and after it.
func (l launch) card(p *place) string {
	p.t.Helper()
	if l.still || l.mute {
		return ""
	}
	_, talk, code := p.ringfence(l.with("--verbose", "--yes")...)
	var b strings.Builder
	for line := range strings.Lines(cardFacts(talk)) {
		b.WriteString("said " + facts{role: p.role}.replace(line))
	}
	fmt.Fprintf(&b, "exit %d\n", code)
	return b.String()
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

// TestLaunches plans every launch as both users, and starts it as one of them.
func TestLaunches(t *testing.T) {
	for i, l := range launches {
		l.mute = !stage.Mine(i) && !*update
		asked := func(line string) bool { return !l.mute || !ofCard(line) }
		t.Run(l.name, func(t *testing.T) { goldenPart(t, "launch/"+l.name+".txt", asked, l.text) })
	}
	if *update && self() == root {
		writeTexts(t)
	}
}

// writeTexts writes the longer files of plans, and removes those that no plan names.
func writeTexts(t *testing.T) {
	t.Helper()
	for name, text := range texts {
		writeFile(t, filepath.Join(textDir, name), text)
	}
	var plans strings.Builder
	files, _ := filepath.Glob("testdata/launch/*.txt")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plans.Write(data)
	}
	kept, _ := filepath.Glob(textDir + "/*")
	for _, file := range kept {
		if !strings.Contains(plans.String(), " text="+filepath.Base(file)+" ") {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}
