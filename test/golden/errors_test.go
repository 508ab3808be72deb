package golden

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A mistake is a command line that cannot work, or a file that cannot be obeyed.
type mistake struct {
	args   string // split at spaces; '' is an empty word
	policy string // the user's own file
	wish   string // the project's file
}

// TestErrors holds what is said of mistakes, and the exit status.
func TestErrors(t *testing.T) {
	for _, group := range []struct {
		name     string
		mistakes []mistake
		projects []string
	}{
		{"commands", commandMistakes, []string{"base", "git"}},
		{"launch", launchMistakes, []string{"base", "git"}},
		{"secrets", secretMistakes, []string{"base"}},
		{"policy", policyMistakes(), []string{"base", "git"}},
		{"missing", missingAgents, nil}, // nothing is on PATH
	} {
		t.Run(group.name, func(t *testing.T) {
			golden(t, "errors/"+group.name+".txt", func(t *testing.T, r role) string {
				p := newPlace(t, r, group.projects...)
				var b strings.Builder
				for _, m := range group.mistakes {
					b.WriteString(m.text(p))
				}
				return b.String()
			})
		})
	}
}

func (m mistake) text(p *place) string {
	p.t.Helper()
	for file, data := range map[string]string{".config/ringfence/policy.toml": m.policy, "project/.ringfence.toml": m.wish} {
		if data == "" {
			if err := os.RemoveAll(home + "/" + file); err != nil {
				p.t.Fatal(err)
			}
			continue
		}
		p.write(file, []byte(data))
	}
	p.own()
	words := strings.Fields(m.args)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "''", "")
	}
	out, talk, code := p.ringfence(words...)
	var b strings.Builder
	b.WriteString("$ ringfence " + m.args + "\n")
	for _, part := range []struct{ name, text string }{{"policy", m.policy}, {"project", m.wish}, {"stdout", out}, {"stderr", talk}} {
		for line := range strings.Lines(facts{role: p.role}.replace(part.text)) {
			b.WriteString("    " + part.name + " | " + strings.ToValidUTF8(strings.TrimSuffix(line, "\n"), "(not UTF-8)") + "\n")
		}
	}
	fmt.Fprintf(&b, "    exit %d\n\n", code)
	if code == 0 {
		p.t.Errorf("ringfence %s: no mistake", m.args)
	}
	return b.String()
}
