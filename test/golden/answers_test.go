package golden

import (
	"fmt"
	"strings"
	"testing"
)

// answers are questions about a place, by the archives that make it.
var answers = []struct {
	name, projects string
	questions      string
}{
	{"plain", "base git", `
		ps
		ps -a --json
		env
		env --agent claude
		env --json
		policy show
		policy check
		policy groups
		policy show --agent claude --for-agent
		scan
		mcp ls
		secret ls
		secret ls --json
		requests
		log list
		drill
		trust
		gc
		why readme
		why ../.ssh/id_ed25519
		why /opt/absent/of/all
		why /usr/bin
		why .git/config
		why .git/hooks/pre-commit
		why api.example.test
		why github.com
		why webhook.site
		why 10.0.0.1:443
		why 169.254.169.254
		why localhost:6379
		why HOME
		why GH_TOKEN
		why LD_PRELOAD
		why NOBODY
		why --json readme
	`},
	{"rules", "base rules", `
		policy show
		policy show --net internet --ro readme --env X=1
		policy check
		env
		why ../data
		why ../out
		why hidden
		why keys.vault
		why api.example.test
		why x.bad.example.test
		why db.example.test:5432
		why 10.1.2.3:5432
		why EDITION
		why GREETING
	`},
	{"wishes", "base wishes", `
		policy show
		policy check
		trust
		env
		why wish.example.test
		why ../neighbour
		why WISHED
	`},
	{"settings", "base settings servers", `
		scan
		scan --json
		trust
		mcp ls
		mcp ls --json
		why .claude/settings.json
		why .vscode/tasks.json
	`},
	{"secrets", "base secrets dotenv", `
		secret ls
		secret ls --json
		policy show
		why corp.example.test
		why .env
		why keys/server.pem
		why CORP_TOKEN
	`},
}

// TestAnswers holds what ringfence says when somebody asks.
func TestAnswers(t *testing.T) {
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			golden(t, "answers/"+a.name+".txt", func(t *testing.T, r role) string {
				p := newPlace(t, r, strings.Fields(a.projects)...)
				var b strings.Builder
				for line := range strings.Lines(strings.TrimSpace(a.questions)) {
					line = strings.TrimSpace(line)
					out, talk, code := p.ringfence(strings.Fields(line)...)
					n := facts{role: r}
					fmt.Fprintf(&b, "$ ringfence %s\n%s", line, n.replace(out))
					for said := range strings.Lines(n.replace(talk)) {
						b.WriteString("stderr | " + said)
					}
					fmt.Fprintf(&b, "exit %d\n\n", code)
				}
				return b.String()
			})
		})
	}
}
