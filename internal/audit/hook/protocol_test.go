package hook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func call(t *testing.T, v map[string]any) Call {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadCall(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadCall(t *testing.T) {
	c := call(t, map[string]any{"session_id": "x", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/w",
		"tool_input": map[string]any{"command": "ls", "description": "d", "env": map[string]any{"command": "no"}}, "other": map[string]any{"cwd": "no"}})
	if want := (Call{Event: "PreToolUse", Tool: "Bash", Command: "ls", Dir: "/w"}); !reflect.DeepEqual(c, want) {
		t.Errorf("%+v", c)
	}
	for _, bad := range []string{"", "{}", "[]", "1", `{"hook_event_name":1}`, `{"hook_event_name":"a","hook_event_name":"b"}`, `{"hook_event_name":"a"} x`,
		`{"hook_event_name":"PreToolUse","tool_input":{"command":{"a":1}}}`, `{"hook_event_name":"PreToolUse","tool_input":{"command":["rm","-rf","/"]}}`, "{\"hook_event_name\":\"a\xff\"}"} {
		if _, err := ReadCall(strings.NewReader(bad)); err == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
}

// TestAnswer: a denial is in the words of each agent, and what passes is not mentioned.
func TestAnswer(t *testing.T) {
	bad := Call{Event: "PreToolUse", Tool: "Bash", Command: "rm -rf /", Dir: "/w"}
	for agent, words := range map[string]string{
		"claude": `"permissionDecision":"deny"`, "codex": `"permissionDecision":"deny"`, "gemini": `"decision":"deny"`,
	} {
		if got, v := Answer(agent, bad, ann, Gate{}); !strings.Contains(got, words) || v.Decision != Deny || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s", agent, got)
		}
	}
	ask := Call{Event: "PreToolUse", Command: "rm -rf .git"}
	if got, _ := Answer("claude", ask, ann, Gate{}); !strings.Contains(got, `"ask"`) {
		t.Error(got)
	}
	if got, _ := Answer("codex", ask, ann, Gate{}); !strings.Contains(got, `"deny"`) {
		t.Error(got)
	}
	for _, c := range []Call{{Event: "PreToolUse", Command: "ls"}, {Event: "PreToolUse", Tool: "Read"}, {Event: "UserPromptSubmit"}, {Event: "SessionStart"}, {Event: "Stop"}} {
		if got, _ := Answer("claude", c, ann, Gate{}); got != "" {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestGate(t *testing.T) {
	prompt, tool := Call{Event: "UserPromptSubmit"}, Call{Event: "PreToolUse", Tool: "Read"}
	for _, open := range []Gate{{}, {On: true, Inside: true}, {On: true, Bare: true}} {
		for _, c := range []Call{prompt, tool} {
			if got, _ := Answer("claude", c, ann, open); got != "" {
				t.Errorf("%+v %+v: %s", open, c, got)
			}
		}
	}
	shut := Gate{On: true}
	if got, _ := Answer("claude", prompt, ann, shut); !strings.Contains(got, `"decision":"block"`) {
		t.Error(got)
	}
	if got, _ := Answer("claude", tool, ann, shut); !strings.Contains(got, `"deny"`) {
		t.Error(got)
	}
	if got, _ := Answer("claude", Call{Event: "SessionStart"}, ann, shut); !strings.Contains(got, `"continue":false`) {
		t.Error(got)
	}
}

// TestInside: a file alone does not make an inside.
func TestInside(t *testing.T) {
	note := filepath.Join(t.TempDir(), "SANDBOX.md")
	if Inside(note) {
		t.Error("without a note")
	}
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if Inside(note) {
		t.Error("a file that can be written")
	}
}

func TestBare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ringfence")
	path := dir + "/allow-bare"
	if ok, err := Bare(path); ok || err != nil {
		t.Error(ok, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	root := os.Getuid() == 0
	if ok, err := Bare(path); ok != root || (err == nil) != root {
		t.Errorf("root %v: %v %v", root, ok, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if ok, err := Bare(path); ok || err == nil {
		t.Error("one that all can write counts")
	}
}

// TestRepository reads real repositories.
func TestRepository(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@x.test"}, args...)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "trunk", "upstream")
	git("-C", "upstream", "commit", "-q", "--allow-empty", "-m", "x")
	git("clone", "-q", "upstream", "clone")
	git("-C", "clone", "switch", "-q", "-c", "feat/x")
	git("-C", "clone", "worktree", "add", "-q", "../tree", "-b", "other")
	for at, current := range map[string]string{"clone": "feat/x", "tree": "other", "upstream": "trunk"} {
		b := Repository(filepath.Join(dir, at))
		if b.Current != current || at != "upstream" && strings.Join(b.Guarded, " ") != "trunk" {
			t.Errorf("%s: %+v", at, b)
		}
		where := Where{Home: "/home/ann", Dir: filepath.Join(dir, at), Git: Repository}
		if v := Judge("git push origin HEAD:trunk", where); v.Decision != Deny {
			t.Errorf("%s: %+v", at, v)
		}
	}
	if b := Repository("/"); b.Current != "" {
		t.Errorf("%+v", b)
	}
	if v := Judge("git push", Where{Home: "/home/ann", Dir: filepath.Join(dir, "upstream"), Git: func(string) Branches { return Branches{Current: "main"} }}); v.Decision != Deny {
		t.Errorf("on the default branch: %+v", v)
	}
}
