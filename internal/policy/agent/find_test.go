package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/fault"
)

// fixture is a directory with a home, a ws and whatever a test puts there.
type fixture struct {
	t    *testing.T
	root string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return fixture{t, root}
}

func (f fixture) path(rel string) string { return filepath.Join(f.root, rel) }

func (f fixture) write(rel, content string, mode os.FileMode) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(rel)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(rel), []byte(content), mode); err != nil {
		f.t.Fatal(err)
	}
}

func (f fixture) link(rel, target string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(rel)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Symlink(target, f.path(rel)); err != nil {
		f.t.Fatal(err)
	}
}

// query looks in home and ws of the fixture, with PATH made of the entries.
func (f fixture) query(path ...string) Query {
	for i, p := range path {
		if rel, ok := strings.CutPrefix(p, "@/"); ok {
			path[i] = f.path(rel)
		}
	}
	return Query{Path: strings.Join(path, ":"), Dir: f.path("ws"), Home: f.path("home"), Workspaces: []string{f.path("ws")}, Look: Host()}
}

func (f fixture) relative(b Binary) Binary {
	strip := func(s string) string { return strings.Replace(s, f.root, "@", 1) }
	return Binary{strip(b.Path), strip(b.Resolved), strip(b.Tree), strip(b.Interpreter)}
}

const elf = "\x7fELF"

func load(t *testing.T, name string) *Profile {
	t.Helper()
	p, err := Load(name, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFind(t *testing.T) {
	f := newFixture(t)
	nvm := "home/.nvm/versions/node/v22.1.0/"
	f.write(nvm+"bin/node", elf, 0o755)
	f.write(nvm+"lib/node_modules/@openai/codex/bin/codex.js", "#!/usr/bin/env node\n", 0o755)
	f.link(nvm+"bin/codex", "../lib/node_modules/@openai/codex/bin/codex.js")
	f.write("prefix/lib/node_modules/@google/gemini-cli/bundle/gemini.js", "#!/usr/bin/env -S node --no-warnings\n", 0o755)
	f.link("prefix/bin/gemini", "../lib/node_modules/@google/gemini-cli/bundle/gemini.js")
	f.write("home/.local/share/claude/versions/2.1.0", elf, 0o755)
	f.link("home/.local/bin/claude", f.path("home/.local/share/claude/versions/2.1.0"))
	f.write("home/.opencode/bin/opencode", elf, 0o755)

	tests := []struct {
		what, agent string
		path        []string
		want        Binary
	}{
		{"nvm", "codex", []string{"@/" + nvm + "bin"}, Binary{
			"@/" + nvm + "bin/codex", "@/" + nvm + "lib/node_modules/@openai/codex/bin/codex.js",
			"@/" + nvm + "lib/node_modules", "@/" + nvm + "bin/node"}},
		{"npm prefix, env -S", "gemini", []string{"@/none", "@/prefix/bin", "@/" + nvm + "bin"}, Binary{
			"@/prefix/bin/gemini", "@/prefix/lib/node_modules/@google/gemini-cli/bundle/gemini.js",
			"@/prefix/lib/node_modules", "@/" + nvm + "bin/node"}},
		{"native installer, not on PATH", "claude", nil, Binary{
			"@/home/.local/bin/claude", "@/home/.local/share/claude/versions/2.1.0", "@/home/.local/share/claude/versions", ""}},
		{"single file", "opencode", []string{"@/home/.opencode/bin"}, Binary{
			"@/home/.opencode/bin/opencode", "@/home/.opencode/bin/opencode", "@/home/.opencode/bin/opencode", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			b, err := load(t, tt.agent).Find(f.query(tt.path...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, f.relative(b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A repository that brings its own claude must not become the agent, whichever
// way PATH leads there; a path that the user typed is the user's word.
func TestFindIgnoresWorkspace(t *testing.T) {
	f := newFixture(t)
	f.write("ws/node_modules/.bin/claude", "#!/bin/sh\n", 0o755)
	f.write("ws/bin/node", elf, 0o755)
	f.link("home/bin", "../ws/node_modules/.bin")
	f.link("home/links/claude", "../../ws/node_modules/.bin/claude")
	f.link("alias", "ws")
	hostile := []string{"@/ws/node_modules/.bin", "@/home/bin", "@/home/links", "@/alias/node_modules/.bin", "", ".", "node_modules/.bin", "@/ws/sub/../node_modules/.bin"}

	p := load(t, "claude")
	t.Chdir(f.path("ws"))
	_, err := p.Find(f.query(hostile...))
	if fault.KindOf(err) != fault.NotFound || fault.HintOf(err) != "npm install -g @anthropic-ai/claude-code" {
		t.Fatalf("got %v, hint %q", err, fault.HintOf(err))
	}

	f.write("good/claude", elf, 0o755)
	b, err := p.Find(f.query(append(hostile, "@/good")...))
	if err != nil || b.Path != f.path("good/claude") {
		t.Fatalf("got %+v, %v", b, err)
	}

	q := f.query("@/good")
	q.Command = "./node_modules/.bin/claude"
	b, err = p.Find(q)
	want := Binary{"@/ws/node_modules/.bin/claude", "@/ws/node_modules/.bin/claude", "", "/bin/sh"}
	if diff := cmp.Diff(want, f.relative(b)); err != nil || diff != "" {
		t.Fatalf("explicit path: %v\n%s", err, diff)
	}

	f.write("good/codex", "#!/usr/bin/env node\n", 0o755)
	_, err = load(t, "codex").Find(f.query("@/ws/bin", "@/good"))
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), `needs "node"`) {
		t.Fatalf("an interpreter of the workspace was taken: %v", err)
	}
}

func TestFindPlainCommand(t *testing.T) {
	f := newFixture(t)
	f.write("ws/node_modules/.bin/jest", "#!/usr/bin/env node\n", 0o755)
	f.write("ws/bin/node", elf, 0o755)
	q := f.query("@/ws/node_modules/.bin", "@/ws/bin")
	q.Command = "jest"
	b, err := load(t, Command).Find(q)
	want := Binary{"@/ws/node_modules/.bin/jest", "@/ws/node_modules/.bin/jest", "", "@/ws/bin/node"}
	if diff := cmp.Diff(want, f.relative(b)); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	q.Command = "nothing"
	if _, err := load(t, Command).Find(q); fault.ExitStatus(err) != 127 {
		t.Errorf("got %v", err)
	}
}

func TestFindNotExecutable(t *testing.T) {
	f := newFixture(t)
	f.write("bin/claude", elf, 0o644)
	_, err := load(t, "claude").Find(f.query("@/bin"))
	if fault.ExitStatus(err) != 126 {
		t.Fatalf("got %v", err)
	}
	f.write("later/claude", elf, 0o755)
	b, err := load(t, "claude").Find(f.query("@/bin", "@/later"))
	if err != nil || b.Path != f.path("later/claude") {
		t.Fatalf("got %+v, %v", b, err)
	}
	q := f.query()
	q.Command = f.path("bin")
	if _, err := load(t, Command).Find(q); fault.ExitStatus(err) != 126 {
		t.Errorf("a directory: %v", err)
	}
}

func TestShebang(t *testing.T) {
	tests := []struct {
		line, program string
		byName        bool
	}{
		{"#!/usr/bin/env node\nrest", "node", true},
		{"#!/usr/bin/env -S node --x", "node", true},
		{"#!/usr/bin/env -Snode --x", "node", true},
		{"#!/usr/bin/env -i A=b python3\n", "python3", true},
		{"#!/usr/bin/env /opt/x\n", "/opt/x", false},
		{"#! /bin/bash -e\n", "/bin/bash", false},
		{"#!/usr/bin/env\n", "/usr/bin/env", false},
		{"#!node\n", "", false},
		{"#!\n/bin/sh", "", false},
		{elf, "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		program, byName := shebang([]byte(tt.line))
		if program != tt.program || byName != tt.byName {
			t.Errorf("%q: %q %v", tt.line, program, byName)
		}
	}
}
