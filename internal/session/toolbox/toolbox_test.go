package toolbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/state"
)

func mustTool(t *testing.T, v string) policy.Tool {
	t.Helper()
	tool, err := policy.ParseTool(v)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func newBox(t *testing.T) Box {
	t.Helper()
	return Of(state.Dirs{State: t.TempDir()}, "/project")
}

// fetched begins a tool and lays files: a path and its text in turn, which can be run.
func fetched(t *testing.T, b Box, tool string, files ...string) *Fetch {
	t.Helper()
	f, err := b.Begin(mustTool(t, tool))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(f.Outside(), files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func keep(t *testing.T, f *Fetch) Kept {
	t.Helper()
	k, err := f.Keep(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.End(); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeepAndRemove(t *testing.T) {
	b := newBox(t)
	k := keep(t, fetched(t, b, "debian:jq", "usr/bin/jq", "x", "usr/bin/-rf", "x", "usr/bin/get-tool", "x", "usr/bin/a b", "x", "usr/share/doc", "x", "usr/lib/x86_64-linux-gnu/libjq.so.1", "x", "usr/lib/perl/x.so", "x"))
	if !slices.Equal(k.Commands, []string{"jq"}) || !slices.Equal(k.Left, []string{"3 commands whose names are no plain words"}) {
		t.Errorf("%+v", k)
	}
	text, err := os.ReadFile(filepath.Join(b.Shown(), "bin/jq"))
	want := "#!/bin/sh\nLD_LIBRARY_PATH='" + Dir + "/" + k.ID + "/usr/lib/x86_64-linux-gnu'${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\nexport LD_LIBRARY_PATH\nexec '" + Dir + "/" + k.ID + "/usr/bin/jq' \"$@\"\n"
	if err != nil || string(text) != want {
		t.Errorf("%v %s", err, text)
	}
	other := keep(t, fetched(t, b, "npm:jq", "bin/jq", "x", "bin/jqx", "x"))
	if !slices.Equal(other.Commands, []string{"jqx"}) || !slices.Equal(other.Left, []string{"jq: debian:jq has it already"}) {
		t.Errorf("one takes the place of another: %+v", other)
	}
	again := keep(t, fetched(t, b, "debian:jq", "usr/bin/jq", "y"))
	if again.ID == k.ID || !slices.Equal(again.Commands, []string{"jq"}) {
		t.Errorf("%+v", again)
	}
	if entries, _ := os.ReadDir(b.Shown()); len(entries) != 3 {
		t.Errorf("%v: the older one is left", entries)
	}
	for _, name := range []string{"debian:jq", "npm:jq"} {
		if emptied, err := b.Remove(mustTool(t, name)); err != nil || emptied {
			t.Error(emptied, err)
		}
	}
	if _, err := b.Remove(mustTool(t, "npm:jq")); err == nil {
		t.Error("removed twice")
	}
	left, _ := filepath.Glob(b.Shown() + "/*/*")
	if len(left) != 1 || filepath.Base(left[0]) != Client {
		t.Errorf("%q is left", left)
	}
}

// Whatever a hostile package or its build lays down, it is refused whole or does nothing: no
// link is followed, and what is kept stays in its tree.
func TestHostileTrees(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("CANARY"), 0o755); err != nil {
		t.Fatal(err)
	}
	lay := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		lay  func(dir string)
		want string
	}{
		"setuid": {func(d string) { lay(os.Chmod(d+"/bin/x", 0o755|os.ModeSetuid)) }, "is setuid or setgid"},
		"setgid": {func(d string) { lay(os.Chmod(d+"/bin/x", 0o755|os.ModeSetgid)) }, "is setuid or setgid"},
		"fifo":   {func(d string) { lay(unix.Mkfifo(d+"/f", 0o600)) }, "neither a file"},
		"socket": {func(d string) {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			lay(err)
			lay(unix.Bind(fd, &unix.SockaddrUnix{Name: d + "/s"}))
			lay(unix.Close(fd))
		}, "neither a file"},
		"a name elsewhere": {func(d string) { lay(os.Link(d+"/bin/x", filepath.Dir(filepath.Dir(d))+"/stolen")) }, "has a name elsewhere"},
		"sparse and huge":  {func(d string) { lay(os.Truncate(d+"/bin/x", maxBytes+1)) }, "larger than"},
		"deep": {func(d string) {
			lay(os.MkdirAll(d+strings.Repeat("/d", maxDepth+2), 0o755))
		}, "deeper than"},
		"link to a secret": {func(d string) { lay(os.Remove(d + "/bin/x")); lay(os.Symlink(secret, d+"/bin/x")) }, "no command"},
		"link upwards":     {func(d string) { lay(os.Remove(d + "/bin/x")); lay(os.Symlink("../../../records", d+"/bin/x")) }, "no command"},
		"link to itself":   {func(d string) { lay(os.Remove(d + "/bin/x")); lay(os.Symlink("x", d+"/bin/x")) }, "no command"},
		"bin is a link":    {func(d string) { lay(os.RemoveAll(d + "/bin")); lay(os.Symlink(filepath.Dir(secret), d+"/bin")) }, "no command"},
		"nothing":          {func(d string) { lay(os.RemoveAll(d + "/bin")) }, "no command"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			f := fetched(t, b, "npm:x", "bin/x", "x")
			c.lay(f.Outside())
			if _, err := f.Keep(time.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if err := f.End(); err != nil {
				t.Error(err)
			}
			if all, err := b.List(); len(all) > 0 || err != nil {
				t.Errorf("%v %v", all, err)
			}
			if left, _ := filepath.Glob(b.dir + "/" + newPrefix + "*"); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "CANARY" {
		t.Errorf("%s %v", text, err)
	}
}

// Links within a tree are what packages are made of.
func TestLinksWithin(t *testing.T) {
	b := newBox(t)
	f := fetched(t, b, "debian:xx", "usr/lib/x/run", "x", "usr/bin/plain", "x")
	for at, to := range map[string]string{"usr/bin/rel": "../lib/x/run", "usr/bin/abs": "/usr/lib/x/run", "usr/bin/own": f.Inside() + "/usr/lib/x/run", "usr/bin/host": "/bin/sh", "usr/bin/twice": "rel"} {
		if err := os.Symlink(to, filepath.Join(f.Outside(), at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(f.Outside(), "usr/bin/plain"), filepath.Join(f.Outside(), "usr/bin/hard")); err != nil {
		t.Fatal(err)
	}
	if k := keep(t, f); !slices.Equal(k.Commands, []string{"abs", "hard", "own", "plain", "rel", "twice"}) {
		t.Errorf("%v", k.Commands)
	}
}

// A name that a script would take for something else is quoted, or no command.
func TestScriptsAreInert(t *testing.T) {
	odd := `usr/lib/x-linux-'"$(touch ran)` + "`touch ran`\n/libx.so"
	b := newBox(t)
	k := keep(t, fetched(t, b, "debian:xx", "usr/bin/x", "x", odd, "x", "usr/lib/a;touch ran/run", "x"))
	dir := t.TempDir()
	cmd := exec.Command("sh", filepath.Join(b.Shown(), "bin", k.Commands[0]))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput() // there is nothing at that path here
	if err == nil || !strings.Contains(string(out), Dir) {
		t.Errorf("%v %s", err, out)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v was run", left)
	}
}

func TestOneAtATime(t *testing.T) {
	b := newBox(t)
	f := fetched(t, b, "npm:a", "bin/a", "x")
	if _, err := b.Begin(mustTool(t, "npm:b")); err == nil || !strings.Contains(err.Error(), "another tool is being fetched") {
		t.Error(err)
	}
	f.End()
	if err := os.MkdirAll(filepath.Join(b.Shown(), "halfdone"), 0o700); err != nil { // a process was killed
		t.Fatal(err)
	}
	keep(t, fetched(t, b, "npm:b", "bin/b", "x"))
	if _, err := os.Lstat(filepath.Join(b.Shown(), "halfdone")); err == nil {
		t.Error("what was half-done stays")
	}
}

func TestSources(t *testing.T) {
	all := func(string) bool { return true }
	allow := policy.List{{Value: "go:example.org/cmd/frob"}, {Value: "crates:ripgrep"}}
	for wish, want := range map[string]string{"jq": "[debian:jq]", "rg": "[crates:ripgrep debian:ripgrep]", "frob": "[go:example.org/cmd/frob debian:frob]", "npm:x": "[npm:x]"} {
		if got, err := Sources(wish, allow, all); err != nil || strings.Join(strings.Fields(toolsText(got)), " ") != want {
			t.Errorf("%s: %v %v", wish, got, err)
		}
	}
	if got, err := Sources("rg", nil, func(p string) bool { return p == "cargo" }); err != nil || toolsText(got) != "[crates:ripgrep]" {
		t.Errorf("%v %v", got, err)
	}
	for _, wish := range []string{"", "a b", "../x", "-rf", "A", "npm:", "x:y", strings.Repeat("a", 500)} {
		if got, err := Sources(wish, nil, all); err == nil {
			t.Errorf("%q is %v", wish, got)
		}
	}
}

func toolsText(all []policy.Tool) string {
	var out []string
	for _, t := range all {
		out = append(out, t.String())
	}
	return "[" + strings.Join(out, " ") + "]"
}

// nix prints where a tool is; nothing else is led to.
func TestNix(t *testing.T) {
	for _, printed := range []string{"", "/etc\n", "/nix/store/../etc\n", "/nix/store/a/b\n", "/nix/store/a'b\n", "relative\n", "/nix/store/nosuch-thing\n"} {
		f := fetched(t, newBox(t), "nix:x")
		if err := f.LinkNix(printed); err == nil {
			t.Errorf("%q is taken", printed)
		}
		f.End()
	}
	store := t.TempDir()
	for _, name := range []string{"xyz-jq-1.6/bin/jq", "xyz-jq-1.6/bin/a b", "abc-jq-man/share/man"} {
		if err := os.MkdirAll(filepath.Join(store, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := fetched(t, newBox(t), "nix:jq")
	if err := f.linkNix(store, store+"/xyz-jq-1.6\n"+store+"/abc-jq-man\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(f.Outside(), "bin/jq")); err != nil || string(text) != "#!/bin/sh\nexec '"+store+"/xyz-jq-1.6/bin/jq' \"$@\"\n" {
		t.Errorf("%s %v", text, err)
	}
	if k := keep(t, f); !slices.Equal(k.Commands, []string{"jq"}) {
		t.Errorf("%+v", k)
	}
	if got := NixBuild("jq"); got[len(got)-1] != "nixpkgs#jq" {
		t.Error(got)
	}
}

// A package with thousands of commands is refused, and what is there stays readable: no tool
// can keep the sessions of a project from starting.
func TestTooManyCommands(t *testing.T) {
	many := func(from, n int) (files []string) {
		for i := range n {
			files = append(files, fmt.Sprintf("bin/c%0100d", from+i), "x")
		}
		return files
	}
	b := newBox(t)
	keep(t, fetched(t, b, "npm:most", many(0, maxCommands)...))
	refused := func(f *Fetch, want string) {
		t.Helper()
		if _, err := f.Keep(time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
		if err := f.End(); err != nil {
			t.Error(err)
		}
	}
	refused(fetched(t, b, "npm:more", many(1000, maxCommands+1)...), "more than 256 commands")
	var all []Record
	for n := 0; ; n++ { // as many as the list can hold
		r := Record{Tool: fmt.Sprintf("npm:t%d", n), ID: state.NewID()}
		for i := range 80 {
			r.Commands = append(r.Commands, fmt.Sprintf("n%d-%d-%0100d", n, i, i))
		}
		if n == maxKept-1 {
			break
		}
		if _, err := encode(append(all, r)); err != nil {
			break
		}
		all = append(all, r)
	}
	records, err := encode(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if err := os.Mkdir(filepath.Join(b.Shown(), r.ID), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.write(records); err != nil {
		t.Fatal(err)
	}
	refused(fetched(t, b, "npm:last", many(2000, maxCommands)...), "too many commands")
	if _, err := b.List(); err != nil {
		t.Error(err)
	}
}

// A list that cannot be read is not the end of it: removing any tool empties the box.
func TestRemoveFromABoxThatCannotBeRead(t *testing.T) {
	b := newBox(t)
	keep(t, fetched(t, b, "npm:jq", "bin/jq", "x"))
	if err := os.WriteFile(filepath.Join(b.dir, recordsName), make([]byte, maxRecords+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.List(); err == nil {
		t.Fatal("it is read")
	}
	if emptied, err := b.Remove(mustTool(t, "npm:jq")); err != nil || !emptied {
		t.Fatal(emptied, err)
	}
	left, _ := filepath.Glob(b.Shown() + "/*/*")
	if len(left) != 1 || filepath.Base(left[0]) != Client {
		t.Errorf("%q is left", left)
	}
	keep(t, fetched(t, b, "npm:jq", "bin/jq", "x"))
}

// What a crash left is no tool that is there: neither scripts without a record, nor a record
// without its scripts.
func TestHalfKept(t *testing.T) {
	b := newBox(t)
	k := keep(t, fetched(t, b, "npm:jq", "bin/jq", "x"))
	tool := mustTool(t, "npm:jq")
	if r, err := b.Find(tool); err != nil || r == nil {
		t.Fatal(r, err)
	}
	script := filepath.Join(b.Shown(), "bin/jq")
	for _, text := range []string{"", "#!/bin/sh\nexec '" + Dir + "/another0/bin/jq'\n"} {
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if r, err := b.Find(tool); err != nil || r != nil {
			t.Errorf("%q: %v %v", text, r, err)
		}
	}
	if again := keep(t, fetched(t, b, "npm:jq", "bin/jq", "x")); again.ID == k.ID {
		t.Error(again.ID)
	}
	if r, err := b.Find(tool); err != nil || r == nil {
		t.Error(r, err)
	}
}

// A directory that cannot be read to its end is not taken for one that was looked at.
func TestDirectoryThatCannotBeRead(t *testing.T) {
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	l := &looker{dirs: map[string]bool{}}
	if err := l.walk(f, "", 0); err == nil {
		t.Error("it counts as looked at")
	}
}
