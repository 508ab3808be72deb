package docs

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// scripts/cast wants the recording.
var printCast = flag.Bool("cast", false, "print the recording of the walk, each line after CAST")

// What is typed in the walk: the two commands of README.md, and one question.
const (
	firstCommand  = "make run"
	secondCommand = "cd ~/project && ~/ringfence/bin/ringfence claude"
	question      = "which credentials can you find on this machine?"
	verdict       = "None. There is no key, no token and no way to the metadata service from here."
)

// search is what the model has the agent do.
const search = `cat ~/.ssh/id_ed25519 ~/.aws/credentials; printenv AWS_SECRET_ACCESS_KEY; curl -sS -m 5 http://169.254.169.254/`

// The size of the screen.
const screenRows, screenColumns = 56, 92

// TestWalk walks from a clone to a fenced Claude Code as README.md says it, in an empty
// HOME, at a terminal, and records it. Root types the same commands in TestPages.
func TestWalk(t *testing.T) {
	if !stage.Mine(1) {
		t.Skip("the ordinary user walks")
	}
	home := filepath.Join(stage.Home, "you")
	p := personIn(t, t.TempDir(), home,
		model.Turn{Calls: []model.Call{{Tool: "Bash", Input: map[string]any{"command": search, "description": "Look for credentials"}}}},
		model.Turn{Text: verdict})
	const canary = "rf-walk-canary"
	p.put(t, ".ssh/id_ed25519", canary+"\n")
	p.put(t, ".aws/credentials", "[default]\naws_secret_access_key = "+canary+"\n")
	tree := filepath.Join(home, "ringfence")
	p.clone(t, tree)
	w := startWalk(t, p, tree, "AWS_SECRET_ACCESS_KEY="+canary)
	w.command(firstCommand)
	w.until("Now you: a shell inside", "looking around inside")
	w.keys("exit\r")
	w.until(prompt)
	w.command(secondCommand)
	w.until("? for shortcuts")
	w.keys(question)
	w.until(question)
	w.keys("\r")
	w.until(verdict)
	if w.shows(canary) {
		t.Error("the agent has shown a credential")
	}
	w.press("/exit", prompt)
	w.keys("exit\r")
	w.end()
	if *printCast && os.Getuid() != 0 {
		w.print()
	}
}

// prompt is the shell's, where nothing else is.
const prompt = "you$"

// walk is a shell at a terminal, and its recording.
type walk struct {
	t        *testing.T
	ctx      context.Context
	terminal *os.File
	cmd      *exec.Cmd
	over     chan struct{}
	began    time.Time

	mu    sync.Mutex
	cast  []event
	rest  []byte         // the beginning of a sign
	seen  *screen.Screen // since the last command
	asked bool           // about the tool
}

// event is one line of an asciicast.
type event struct {
	At   float64
	Kind string
	Data string
}

func startWalk(t *testing.T, p *person, dir string, env ...string) *walk {
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Patience)
	t.Cleanup(cancel)
	w := &walk{t: t, ctx: ctx, began: time.Now(), seen: &screen.Screen{}, over: make(chan struct{})}
	w.cmd = exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-i")
	// No more than anybody has, so that the picture is of this.
	w.cmd.Dir, w.cmd.Env = dir, append(env, "PS1=you$ ")
	for _, e := range p.env {
		name, value, _ := strings.Cut(e, "=")
		if name == "PATH" {
			e = "PATH=" + strings.TrimPrefix(value, filepath.Join(p.home, ".local/bin")+":")
		}
		if slices.Contains([]string{"HOME", "PATH", "LANG", "TERM", "USER", "SHELL", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"}, name) {
			w.cmd.Env = append(w.cmd.Env, e)
		}
	}
	var err error
	if w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: screenRows, Cols: screenColumns}); err != nil {
		t.Fatal(err)
	}
	go w.watch()
	w.until(prompt)
	return w
}

func (w *walk) watch() {
	defer close(w.over)
	buf := make([]byte, 1<<15)
	for {
		n, err := w.terminal.Read(buf)
		if n > 0 {
			w.take(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// take records what came, in whole signs.
func (w *walk) take(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Write(b)
	b = append(w.rest, b...)
	end := len(b)
	for end > 0 && len(b)-end < utf8.UTFMax && !utf8.Valid(b[:end]) {
		end--
	}
	if !utf8.Valid(b[:end]) {
		end = len(b)
	}
	w.rest = slices.Clone(b[end:])
	w.cast = append(w.cast, event{time.Since(w.began).Seconds(), "o", strings.ToValidUTF8(string(b[:end]), "?")})
}

func (w *walk) shows(text string) bool {
	w.mu.Lock()
	s := w.seen
	w.mu.Unlock()
	return s.Shows(text)
}

// command types one at the shell, and marks it in the recording.
func (w *walk) command(line string) {
	w.mu.Lock()
	w.cast = append(w.cast, event{time.Since(w.began).Seconds(), "m", line})
	w.seen = &screen.Screen{}
	w.mu.Unlock()
	w.keys(line + "\r")
}

func (w *walk) keys(text string) {
	w.t.Helper()
	if _, err := w.terminal.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for one of the texts. Questions on the way are answered: whether to start,
// and whether the agent may use its tool.
func (w *walk) until(texts ...string) {
	w.t.Helper()
	for {
		for _, text := range texts {
			if w.shows(text) {
				return
			}
		}
		if w.shows(prompt) { // the command is over
			w.t.Fatalf("the screen does not show %q:\n%s", texts, w.seen)
		}
		if !w.asked && (w.shows("Press Enter to start") || w.shows("Do you want to proceed?")) {
			w.asked = w.shows("Do you want to proceed?")
			w.keys("\r")
		}
		select {
		case <-w.ctx.Done():
			w.t.Fatalf("the screen does not show %q:\n%s", texts, w.seen)
		case <-w.over:
			w.t.Fatalf("it ended and did not show %q:\n%s", texts, w.seen)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// press types a line of the agent's until a text is there. One that is busy takes the
// first time for nothing.
func (w *walk) press(line, want string) {
	w.t.Helper()
	w.mu.Lock()
	w.seen = &screen.Screen{}
	w.mu.Unlock()
	for n := 0; !w.shows(want); n++ {
		w.keys([]string{line, "\r"}[n%2])
		select {
		case <-w.ctx.Done():
			w.t.Fatalf("the screen does not show %q:\n%s", want, w.seen)
		case <-time.After(time.Second):
		}
	}
}

func (w *walk) end() {
	<-w.over
	w.terminal.Close()
	w.cmd.Wait()
}

// longest is how long nothing happens in the recording at most.
const longest = 1.2

// print writes the recording as an asciicast of version 2.
func (w *walk) print() {
	head, _ := json.Marshal(map[string]any{"version": 2, "width": screenColumns, "height": screenRows,
		"title": "From a clone to a fenced Claude Code", "env": map[string]string{"TERM": "xterm-256color", "SHELL": "/bin/bash"}})
	fmt.Printf("CAST %s\n", head)
	at, last := 0.0, 0.0
	for _, e := range w.cast {
		at += min(e.At-last, longest)
		last = e.At
		line, _ := json.Marshal([]any{float64(int(at*1000)) / 1000, e.Kind, e.Data})
		fmt.Printf("CAST %s\n", line)
	}
}

// TestCast: the recording in the docs is of commands that exist, and of those that
// README.md shows first.
func TestCast(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(read(t, filepath.Join(kitTree, "docs/walk.cast"))), "\n")
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head.Version != 2 || head.Width != screenColumns {
		t.Fatalf("the head is %q: %v", lines[0], err)
	}
	var typedLines []string
	var all strings.Builder
	for _, l := range lines[1:] {
		var e []any
		if err := json.Unmarshal([]byte(l), &e); err != nil || len(e) != 3 {
			t.Fatalf("%q: %v", l, err)
		}
		if e[1] == "m" {
			typedLines = append(typedLines, e[2].(string))
		}
		all.WriteString(e[2].(string))
	}
	if !slices.Equal(typedLines, []string{firstCommand, secondCommand}) {
		t.Errorf("typed is %q", typedLines)
	}
	s := &screen.Screen{}
	s.Write([]byte(all.String()))
	if !s.Shows(verdict) {
		t.Error("it ends before the agent has answered: run scripts/cast")
	}
	readme := read(t, filepath.Join(kitTree, "README.md"))
	for _, line := range typedLines {
		if !strings.Contains(readme, "\n$ "+line+" ") {
			t.Errorf("README.md does not begin with %q", line)
		}
	}
	if !strings.Contains(readme, "](docs/walk.svg)") || !strings.Contains(read(t, filepath.Join(kitTree, "docs/walk.svg")), "<svg") {
		t.Error("README.md has no picture")
	}
}
