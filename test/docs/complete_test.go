package docs

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
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

// TestCompletion asks the real shells, with the scripts that are installed. Each is
// started once for all lines.
func TestCompletion(t *testing.T) {
	p := newPerson(t)
	p.past(t)
	p.put(t, ".config/ringfence/agents/mine.toml", "title = \"Mine\"\n")
	var lines []string
	for _, c := range completions {
		lines = append(lines, c.line)
	}
	for i, shell := range []struct {
		name string
		ask  func(*testing.T, *person, []string) [][]string
	}{{"zsh", askZsh}, {"bash", askBash}, {"fish", askFish}} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(shell.name, func(t *testing.T) {
			answers := shell.ask(t, p, lines)
			if len(answers) != len(lines) {
				t.Fatalf("%d answers to %d lines: %q", len(answers), len(lines), answers)
			}
			for i, c := range completions {
				c.expect(t, answers[i])
			}
		})
	}
}

func (c completed) expect(t *testing.T, got []string) {
	t.Helper()
	for _, w := range c.want {
		if !slices.Contains(got, w) {
			t.Errorf("%q: %q is not offered: %q", c.line, w, got)
		}
	}
	for _, w := range c.not {
		if slices.Contains(got, w) {
			t.Errorf("%q: %q is offered", c.line, w)
		}
	}
}

func script(shell string) string {
	return filepath.Join(kitTree, "packaging/completion/ringfence."+shell)
}

// next stands before the words that are offered for a line.
const next = "=== next line"

// askBash calls the function as bash does when TAB is pressed.
func askBash(t *testing.T, p *person, lines []string) [][]string {
	const ask = `source "$1"
compopt() { :; } # outside of a completion it only complains
for line in "${@:3}"; do
	read -ra COMP_WORDS <<<"$line"
	[[ $line == *' ' ]] && COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
	_ringfence ringfence "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
	printf '%s\n' "$2" "${COMPREPLY[@]}"
done`
	return p.ask(t, "bash", append([]string{"--norc", "-c", ask, "bash", script("bash"), next}, lines...)...)
}

func askFish(t *testing.T, p *person, lines []string) [][]string {
	const ask = `source $argv[1]
for line in $argv[3..-1]
	echo $argv[2]
	complete --do-complete $line
end`
	return p.ask(t, "fish", append([]string{"--no-config", "-c", ask, script("fish"), next}, lines...)...)
}

// ask runs a shell that says for each line what it offers: the first word of each row.
func (p *person) ask(t *testing.T, name string, args ...string) (answers [][]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = p.project, p.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(string(out), next+"\n"), next+"\n") {
		var words []string
		for row := range strings.Lines(part) {
			word, _, _ := strings.Cut(strings.TrimSpace(row), "\t")
			words = append(words, strings.TrimSpace(word))
		}
		answers = append(answers, words)
	}
	return answers
}

// zshAsk makes zsh write what it would offer to a file: its completion works at the line
// editor alone, so it sits at a terminal.
const zshAsk = `unsetopt prompt_cr prompt_sp
n=0
precmd() { PS1="READY$((n++))%% " }
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
`

func askZsh(t *testing.T, p *person, lines []string) (answers [][]string) {
	dir, err := os.MkdirTemp(p.top, "zsh-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(zshAsk), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
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
	s := &screen.Screen{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(s, terminal)
	}()
	waitFor(ctx, t, s, "READY0%", "zsh")
	for i, line := range lines {
		// What follows the TAB is taken when the completion is over. The next line has to
		// wait for the prompt: before that the terminal edits it, and knows no TAB.
		fmt.Fprintf(terminal, "%s\t\x15:\r", line)
		waitFor(ctx, t, s, fmt.Sprintf("READY%d%%", i+1), "zsh")
		words, _ := os.ReadFile(offered)
		os.Remove(offered)
		answers = append(answers, strings.Fields(string(words)))
	}
	terminal.WriteString("exit\r")
	<-done
	cmd.Wait()
	return answers
}

func waitFor(ctx context.Context, t *testing.T, s *screen.Screen, text, who string) {
	t.Helper()
	for !s.Shows(text) {
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not say %q:\n%s", who, text, s)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
