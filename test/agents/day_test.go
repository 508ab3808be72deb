package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/tier"
)

// A day of work: what developers' tools do to a kernel and its files. One agent builds
// with Go as well, which takes longer than all the rest.
const day = `set -e
node -e 'const fs = require("fs"); fs.writeFileSync("made.txt", "by node " + process.version + "\n"); require("http").createServer().listen(0, function () { this.close() })'
npm ci --offline --no-audit --no-fund --no-update-notifier >/dev/null 2>npm.log || { cat npm.log; exit 1; }
rm npm.log; node -e 'if (require("dep") !== 42) process.exit(1)'
git init -q -b main . && git config user.name a && git config user.email a@a.test && printf 'node_modules\n' >.gitignore
git add -A && git commit -qm first && git checkout -qb feature && echo more >>made.txt && git commit -qam second && git checkout -q main && git merge -q feature
[ "$(git log --oneline | wc -l)" = 2 ] && git gc -q && git fsck --strict 2>&1
rg -q 'by node' . && rg --files | sort >files.txt
`

const goDay = `
PATH=$PATH:/usr/local/go/bin:/usr/lib/go/bin GOPROXY=off GOFLAGS=-buildvcs=false GOTOOLCHAIN=local go build -o built . && ./built
`

// shortDay is for a machine whose processor is made of software.
const shortDay = `set -e
node -e 'require("fs").writeFileSync("made.txt", "by node " + process.version + "\n")'
git init -q -b main . && git config user.name a && git config user.email a@a.test && git add -A && git commit -qm first
git ls-files >files.txt
`

// TestDay lets each agent do it, on the rung that is played on.
func TestDay(t *testing.T) {
	if rungs.Plain() && !tier.All() {
		t.Skip("the other tests have days enough for the native rung")
	}
	eachAgent(t, 0, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		p.pay()
		dir := p.project(t, "day")
		script := day
		if rungs.Name() == rungs.MicroVM {
			if a.name != claude.name {
				t.Skip("minutes of emulation")
			}
			script = shortDay
		}
		for path, text := range map[string]string{
			"package.json":      `{"name": "day", "version": "1.0.0", "dependencies": {"dep": "file:dep"}}`,
			"package-lock.json": `{"name": "day", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "day", "version": "1.0.0", "dependencies": {"dep": "file:dep"}}, "dep": {"version": "1.0.0"}, "node_modules/dep": {"resolved": "dep", "link": true}}}`,
			"dep/package.json":  `{"name": "dep", "version": "1.0.0", "main": "dep.js"}`,
			"dep/dep.js":        "module.exports = 42\n",
			"go.mod":            "module day.test/day\n",
			"main.go":           "package main\n\nfunc main() { println(\"built\") }\n",
		} {
			p.put(t, filepath.Join(dir, path), text)
		}
		if a.name == claude.name && rungs.Name() != rungs.MicroVM {
			script += goDay
		}
		p.put(t, filepath.Join(dir, "day.sh"), script+"echo the day is done; uname -v >kernel.txt\n")
		asked := p.converse(t, dir, a.begin, "do a day of work", use(a.shell("sh ./day.sh")), say("that is all"))
		if !strings.Contains(asked, "the day is done") {
			t.Errorf("the day went wrong:\n%s", asked[max(0, len(asked)-3000):])
		}
		for path, want := range map[string]string{"made.txt": "by node v", "files.txt": "dep/dep.js\n"} {
			if b, err := os.ReadFile(filepath.Join(dir, path)); err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s: %q, %v", path, b, err)
			}
		}
	})
}

// arrive applies what waits, where nothing is live.
func (p *person) arrive(t *testing.T, dir string) {
	t.Helper()
	if rungs.Plain() {
		return
	}
	if r := p.ringfence(t, dir, "apply", "--yes"); r.status != 0 {
		t.Logf("apply: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}
