package why_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// room is a home with a project and a few things beside it.
type room struct{ home, project string }

func newRoom(t *testing.T) *room {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &room{home: home, project: filepath.Join(home, "project")}
	for name, text := range map[string]string{
		"project/main.go": "package main\n", "project/sub/deep/file": "x", "notes/plan.txt": "plan", ".ssh/id_rsa": "key", ".bashrc": "",
		"project/.env": "API_TOKEN=correct-horse-battery-staple-0123456789\n", "project/tool.sh": "#!/bin/sh\n",
	} {
		r.write(t, name, text)
	}
	if err := os.Chmod(r.at("project/tool.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *room) at(name string) string { return filepath.Join(r.home, name) }

func (r *room) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.at(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.at(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unused returns a name in a directory of the machine that nobody has.
func unused(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.CreateTemp(dir, "ringfence-unused-")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// world prepares a session in the project, as a launch would.
func (r *room) world(t *testing.T, change func(*launch.Options)) *why.World {
	t.Helper()
	opt := launch.Options{Agent: agent.Command, Args: []string{"/bin/sh"}, Dir: r.project, Flags: &policy.Policy{}, Look: true,
		Environ: []string{"HOME=" + r.home, "PATH=/usr/bin:/bin", "TERM=x", "FLAVOUR=sweet", "GITHUB_TOKEN=t"}}
	if change != nil {
		change(&opt)
	}
	s, err := session.Prepare(opt)
	if err != nil {
		t.Fatal(err)
	}
	return s.World()
}

func rules(values ...string) (out policy.List) {
	for _, v := range values {
		out = append(out, policy.Rule{Value: v, Source: policy.Source{File: "flag"}})
	}
	return out
}

// said is a finding in a word.
func said(f *why.Finding) string {
	if f == nil {
		return "nothing"
	}
	who := "theirs"
	if f.Ours {
		who = "ours"
	}
	return string(f.Verdict) + ", " + who
}

func TestPaths(t *testing.T) {
	r := newRoom(t)
	for link, to := range map[string]string{"project/out": "../.ssh", "project/loop": "loop", "project/near": "sub/deep"} {
		if err := os.Symlink(to, r.at(link)); err != nil {
			t.Fatal(err)
		}
	}
	w := r.world(t, func(o *launch.Options) {
		o.Flags.Files.Read, o.Flags.Files.Mask = rules(r.at("notes")), rules("sub/deep")
	})
	for path, want := range map[string][3]string{ // read, write, execute
		"project/main.go":         {"allowed, ours", "allowed, ours", "denied, theirs"},
		"project/tool.sh":         {"allowed, ours", "allowed, ours", "allowed, ours"},
		"project/new/file":        {"absent, theirs", "allowed, ours", "absent, theirs"},
		"project/.envrc":          {"absent, theirs", "held, ours", "absent, theirs"},
		"project/.ringfence-x":    {"absent, theirs", "denied, ours", "absent, theirs"},
		"project/sub/deep/file":   {"denied, ours", "denied, ours", "denied, ours"},
		"project/near/file":       {"denied, ours", "denied, ours", "denied, ours"},
		"project/.env":            {"denied, ours", "denied, ours", "denied, ours"},
		"project/out/id_rsa":      {"absent, ours", "private, ours", "absent, ours"},
		"notes/plan.txt":          {"allowed, ours", "denied, ours", "denied, theirs"},
		"notes/nothing":           {"absent, theirs", "denied, ours", "absent, theirs"},
		".ssh/id_rsa":             {"absent, ours", "private, ours", "absent, ours"},
		".bashrc":                 {"absent, ours", "private, ours", "absent, ours"},
		".never":                  {"absent, theirs", "private, ours", "absent, theirs"},
		"":                        {"private, ours", "private, ours", "private, ours"},
		"/usr/bin/env":            {"allowed, ours", "denied, ours", "allowed, ours"},
		"/etc/passwd":             {"private, ours", "denied, ours", "private, ours"},
		"/dev/null":               {"allowed, ours", "private, ours", "allowed, ours"},
		unused(t, "/dev/shm"):     {"absent, theirs", "private, ours", "absent, theirs"},
		"/proc/self/root/no-such": {"absent, theirs", "denied, ours", "absent, theirs"},
		"/proc/kcore":             {"denied, ours", "denied, ours", "denied, ours"},
		"/no/such":                {"absent, theirs", "denied, ours", "absent, theirs"},
	} {
		if !strings.HasPrefix(path, "/") {
			path = r.at(path)
		}
		a := w.AboutPath(path)
		for i, access := range []string{why.Read, why.Write, why.Execute} {
			f := a.Of(access)
			if got := said(f); got != want[i] {
				t.Errorf("%s %s: %s, want %s (%+v)", access, path, got, want[i], f)
			}
			if f.Ours && (f.Rule == "" || f.Source == "" || f.By == "" || f.Reason == "") {
				t.Errorf("%s %s says no rule, source, wall or reason: %+v", access, path, f)
			}
		}
	}
	if a := w.AboutPath(r.at("project/loop")); said(a.Of(why.Read)) == "allowed, ours" {
		t.Errorf("a loop of links: %+v", a)
	}
}

// A file's own permissions are never called a wall of ours, but for root, whose
// override is what the sandbox takes.
func TestPermissions(t *testing.T) {
	r := newRoom(t)
	r.write(t, "project/closed/inner", "x")
	for path, mode := range map[string]os.FileMode{"project/main.go": 0, "project/tool.sh": 0o444, "project/closed": 0} {
		if err := os.Chmod(r.at(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(r.at("project/closed"), 0o755)
	w := r.world(t, nil)
	who := ", theirs"
	if os.Getuid() == 0 {
		who = ", ours" // root could, outside
	}
	for _, c := range []struct{ path, access, want string }{
		{"project/main.go", why.Read, "denied" + who}, {"project/main.go", why.Write, "denied" + who},
		{"project/tool.sh", why.Read, "allowed, ours"}, {"project/tool.sh", why.Write, "denied" + who},
		{"project/tool.sh", why.Execute, "denied, theirs"},
		{"project/closed/inner", why.Read, "denied" + who}, {"project/closed/new", why.Write, "denied" + who},
	} {
		f := w.AboutPath(r.at(c.path)).Of(c.access)
		if got := said(f); got != c.want {
			t.Errorf("%s %s: %s, want %s (%+v)", c.access, c.path, got, c.want, f)
		}
		if f.Grant != nil {
			t.Errorf("%s %s: a grant is named: %v", c.access, c.path, f.Grant.Flags)
		}
	}
	f := w.AboutPath(r.at("project/main.go")).Of(why.Read)
	if !strings.Contains(f.Reason, "mode 0000") || !strings.Contains(f.Reason, "belongs to ") {
		t.Errorf("reason %q", f.Reason)
	}
}

// The same file of another user is judged as the kernel will inside.
func TestRootIsJudgedWithoutItsOverride(t *testing.T) {
	if os.Getuid() != 0 {
		return // an ordinary user cannot make such a file
	}
	r := newRoom(t)
	if err := os.Chown(r.at("project/main.go"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.at("project/main.go"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := r.world(t, nil)
	if got := said(w.AboutPath(r.at("project/main.go")).Of(why.Read)); got != "denied, ours" {
		t.Errorf("read: %s", got)
	}
	if err := os.Chown(r.at("project/main.go"), 12345, syscall.Getgid()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.at("project/main.go"), 0o640); err != nil {
		t.Fatal(err)
	}
	if got := said(w.AboutPath(r.at("project/main.go")).Of(why.Read)); got != "allowed, ours" {
		t.Errorf("read by group: %s", got)
	}
}
