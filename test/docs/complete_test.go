package docs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// completed is a line that is typed up to the TAB, and words that are offered or not.
type completed struct {
	line string
	want []string
	not  []string
}

var completions = []completed{
	{"ringfence ", []string{"run", "claude", "policy", "mine"}, []string{"show", "--json"}},
	{"ringfence pol", []string{"policy"}, []string{"run"}},
	{"ringfence policy ", []string{"show", "check", "groups", "schema"}, []string{"run"}},
	{"ringfence policy show --res", []string{"--resolved"}, []string{"--hosts"}},
	{"ringfence run --work", []string{"--workspace"}, []string{"--json"}},
	{"ringfence env --agent c", []string{"claude", "codex"}, []string{"gemini"}},
	{"ringfence stop ", []string{"demo"}, []string{"run"}},
	{"ringfence exec dem", []string{"demo"}, nil},
	{"ringfence diff ol", []string{"old"}, []string{"demo"}},
	{"ringfence diff old READ", []string{"README.md"}, []string{"old"}},
	{"ringfence run --ro READ", []string{"README.md"}, nil},
	{"ringfence completion ", []string{"bash", "zsh", "fish"}, nil},
	{"ringfence secret test anth", []string{"anthropic"}, nil},
	{"ringfence help pol", []string{"policy"}, nil},
	{"ringfence drill mo", nil, []string{"run"}},
	{"ringfence mine --work", []string{"--workspace"}, nil},
}

// TestCompletion asks the real shells, with the scripts that are installed.
func TestCompletion(t *testing.T) {
	p := newPerson(t)
	p.past(t)
	p.put(t, ".config/ringfence/agents/mine.toml", "title = \"Mine\"\n")
	for shell, ask := range map[string]func(*testing.T, *person, string) []string{"bash": askBash, "fish": askFish, "zsh": askZsh} {
		t.Run(shell, func(t *testing.T) {
			for _, c := range completions {
				got := ask(t, p, c.line)
				offered := " " + strings.Join(got, " ") + " "
				for _, w := range c.want {
					if !strings.Contains(offered, " "+w+" ") {
						t.Errorf("%q: %q is not offered: %q", c.line, w, got)
					}
				}
				for _, w := range c.not {
					if strings.Contains(offered, " "+w+" ") {
						t.Errorf("%q: %q is offered", c.line, w)
					}
				}
			}
		})
	}
}

func script(shell string) string {
	return filepath.Join(kitTree, "packaging/completion/ringfence."+shell)
}

// askBash calls the function as bash does when TAB is pressed.
func askBash(t *testing.T, p *person, line string) []string {
	const ask = `source "$1"
read -ra COMP_WORDS <<<"$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$2 COMP_POINT=${#2}
compopt() { :; } # outside of a completion it only complains
_ringfence ringfence "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"`
	return p.ask(t, "bash", "--norc", "-c", ask, "bash", script("bash"), line)
}

func askFish(t *testing.T, p *person, line string) []string {
	var words []string
	for _, l := range p.ask(t, "fish", "--no-config", "-c", `source $argv[1]; complete --do-complete $argv[2]`, script("fish"), line) {
		word, _, _ := strings.Cut(l, "\t")
		words = append(words, word)
	}
	return words
}

func (p *person) ask(t *testing.T, name string, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = p.project, p.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// zshAsk makes zsh write what it would offer to a file: its completion works at the line
// editor alone, so it sits at a terminal.
const zshAsk = `unsetopt prompt_cr prompt_sp
PS1='READY%% '
autoload -Uz compinit && compinit -D -u
source "$COMPLETION"
compadd() {
	if [[ ${@[(I)-O]} -eq 0 && ${@[(I)-A]} -eq 0 && ${@[(I)-D]} -eq 0 ]]; then
		local -a __hits
		builtin compadd -O __hits "$@"
		print -rl -- $__hits >>"$OFFERED"
	fi
	builtin compadd "$@"
}
print BEGIN
`

func askZsh(t *testing.T, p *person, line string) []string {
	dir, err := os.MkdirTemp(p.top, "zsh-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(zshAsk), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "zsh", "-o", "no_global_rcs", "-i")
	cmd.Dir = p.project
	offered := filepath.Join(dir, "offered")
	cmd.Env = append(p.env, "ZDOTDIR="+dir, "COMPLETION="+script("zsh"), "OFFERED="+offered)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	s := &screen{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for n, err := terminal.Read(buf); err == nil; n, err = terminal.Read(buf) {
			s.Write(buf[:n])
		}
	}()
	waitFor(ctx, t, s, "READY%", "zsh")
	// What follows the TAB is answered when the completion is over.
	terminal.WriteString(line + "\t\x15print -r OV''ER\r")
	waitFor(ctx, t, s, "OVER", "zsh")
	terminal.WriteString("exit\r")
	<-done
	cmd.Wait()
	words, _ := os.ReadFile(offered)
	return strings.Fields(string(words))
}

func waitFor(ctx context.Context, t *testing.T, s *screen, text, who string) {
	t.Helper()
	for !s.shows(text) {
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not say %q:\n%s", who, text, s)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
