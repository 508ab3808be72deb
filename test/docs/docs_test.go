package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// pages are the files that are held to what they say.
func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kitTree, "docs/*.md"))
	if err != nil || len(files) < 5 {
		t.Fatalf("there are few pages: %q, %v", files, err)
	}
	return append([]string{filepath.Join(kitTree, "README.md")}, files...)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPages types every command of every page: one page as root, the next as the
// ordinary user.
func TestPages(t *testing.T) {
	for i, path := range pages(t) {
		if !stage.Mine(i) {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			d := parse(read(t, path))
			for _, w := range d.wrong {
				t.Error(w)
			}
			if len(d.commands) == 0 {
				return
			}
			p := newPerson(t)
			for _, c := range d.commands {
				p.expect(t, c)
			}
		})
	}
}

// expect types a command and wants the status that the page promises.
func (p *person) expect(t *testing.T, c typed) {
	t.Helper()
	if strings.HasPrefix(c.text, "make ") {
		p.make(t, c)
		return
	}
	if status, said := p.run(t, c); status != c.exit && !slices.Contains(c.also, status) {
		t.Errorf("line %d: %s: exit %d, not %d\n%s", c.line, c.text, status, c.exit, said)
	}
}

// make runs in a copy of the tree. The whole proof cannot be run by itself, nor the
// measurements in the time of a test: that they are there is looked up.
func (p *person) make(t *testing.T, c typed) {
	t.Helper()
	if m := regexp.MustCompile(`^make (test|bench)( *#.*)?$`).FindStringSubmatch(c.text); m != nil {
		if !strings.Contains(read(t, filepath.Join(kitTree, "Makefile")), "\n"+m[1]+": ") {
			t.Errorf("line %d: there is no `make %s`", c.line, m[1])
		}
		return
	}
	tree := filepath.Join(p.home, "ringfence")
	if !exists(tree) {
		p.clone(t, tree)
	}
	p.must(t, "cd "+tree)
	if status, said := p.run(t, c); status != c.exit {
		t.Errorf("line %d: %s: exit %d\n%s", c.line, c.text, status, said)
	}
	p.must(t, "cd "+p.project)
}

// answers are examples whose status is an answer, if it is one of these.
var answers = map[string][]int{
	"ringfence diff":               {1}, // something changed
	"ringfence diff --patch":       {1},
	"ringfence thaw demo":          {1}, // nothing froze it
	"ringfence detach demo":        {1}, // nobody is attached
	"ringfence trust --remotes":    {1}, // there is none
	"ringfence doctor":             {0, 1},
	"ringfence audit":              {1}, // nobody has fenced the agents here
	"ringfence audit --all --json": {1},
	"ringfence doctor --json":      {0, 1},

	"ringfence tools add debian:jq":      {1}, // switched off here: it would ask a real archive
	"ringfence tools add debian:ripgrep": {1},
	"ringfence tools add npm:prettier":   {1},
	"ringfence tools rm debian:jq":       {1},
}

// planted is what examples speak of, by their page.
var planted = map[string]map[string]string{
	"ringfence-trust.1": {"project/.ringfence.toml": "[network]\nmode = \"locked\"\n"},
	"ringfence-mcp.1":   {"notes/today.md": "nothing\n", ".local/bin/mcp-server-files": "#!/bin/sh\nexec cat >/dev/null\n"},
	"ringfence-tools.1": {"project/.ringfence.toml": "[tools]\ndefault = \"none\"\n"},
	"ringfence-policy.1": {
		"project/.ringfence.test":    "deny read ~/.ssh/**\ndeny connect 10.0.0.1:443\n",
		"project/new.toml":           "[network]\nmode = \"locked\"\n",
		".claude/settings.json":      "{\"permissions\": {\"deny\": [\"Read(./.env)\"]}}\n",
		"project/.codex/config.toml": "sandbox_mode = \"workspace-write\"\n",
	},
}

// TestExamples types the examples of the manual, which are those of the help: those of
// one page after another, in a world with a session that runs and some that are over.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(kitTree, "docs/man/*.1"))
	if err != nil || len(files) < 30 {
		t.Fatalf("there are few pages: %q, %v", files, err)
	}
	n := 0
	for _, file := range files {
		examples := manual(read(t, file))
		if len(examples) == 0 {
			continue
		}
		if n++; !stage.Mine(n) {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			p := newPerson(t)
			p.past(t)
			for path, text := range planted[filepath.Base(file)] {
				p.put(t, path, text)
			}
			for _, c := range examples {
				c.also = answers[c.text]
				p.expect(t, c)
			}
		})
	}
}

// past is what a person has who has used ringfence before.
func (p *person) past(t *testing.T) {
	t.Helper()
	p.must(t, "mkdir -p ~/.local/share/man/man1")
	p.must(t, "ringfence run --name old --review -- sh -c 'echo tidy >notes.txt'")
	p.must(t, "ringfence run --name readme -- sh -c 'echo more >>README.md'")
	p.must(t, "printf rf-docs-key | ringfence secret set anthropic")
	p.must(t, "! ringfence run -- curl --silent http://denied.example.org")
	p.must(t, "ringfence run -d --name demo -- sh")
}

// TestProofIsRun: `make test` is what CI runs, since no test can.
func TestProofIsRun(t *testing.T) {
	whole := regexp.MustCompile(`(?m)^test:.*\n\t.*\$\(GO\) test .* \./\.\.\.$`)
	if !strings.Contains(read(t, filepath.Join(kitTree, ".ci/run")), "\nexec make test\n") ||
		!whole.MatchString(read(t, filepath.Join(kitTree, "Makefile"))) {
		t.Error("CI does not run `make test`, or that does not run all suites")
	}
}

// TestTypingFails is the control: what goes wrong at the shell is seen.
func TestTypingFails(t *testing.T) {
	p := newPerson(t)
	for line, want := range map[string]int{"false": 1, "(exit 7)": 7, "ringfence frobnicate": 2, "ringfence run -- false": 1, "true": 0} {
		if got, said := p.run(t, typed{text: line}); got != want {
			t.Errorf("%s: exit %d\n%s", line, got, said)
		}
	}
	p.must(t, "export MARK=kept; cd /")
	p.must(t, `[ "$MARK" = kept ] && [ "$PWD" = / ] && cd ~/project`)
}

// TestLinks: what a page refers to in the tree is there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, path := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if !exists(filepath.Join(filepath.Dir(path), m[1])) {
				t.Errorf("%s refers to %s, which is not there", filepath.Base(path), m[1])
			}
		}
	}
}
