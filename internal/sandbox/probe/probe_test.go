package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sample is a target that finds nothing: what it names does not exist.
func sample(t testing.TB) *Target {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "absent")
	ns := map[string]uint64{}
	for _, k := range Kinds() {
		n, err := Namespace("self", k)
		if err != nil {
			t.Fatal(err)
		}
		ns[k] = n
	}
	host, err := OwnKernel()
	if err != nil {
		t.Fatal(err)
	}
	return &Target{Canary: Digest([]byte(canary)), UID: os.Getuid(), Kernel: host, NS: ns, Root: Inode{1, 1}, Places: map[string]Place{}, Process: os.Getpid(), Keeper: os.Getpid(),
		Own: Path(dir), Workspace: Path(dir), Sibling: Path(dir), Proof: "proof", Ran: Path(dir)}
}

const canary = Mark + "0123456789abcdef0123456789abcdef"

// Every launch probe must fail outside, or it proves nothing inside.
func TestLaunchIsOpenOutside(t *testing.T) {
	for _, r := range Launch(t.TempDir(), nil, false) {
		if !r.Open {
			t.Errorf("%s is closed outside: %s", r.Name, r.Detail)
		}
	}
}

func TestMainAnswersForEveryProbe(t *testing.T) {
	in, err := json.Marshal(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, Arg)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeAnswer(bytes.NewReader(out), Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range Names() {
		if got[n].Name != n {
			t.Errorf("%s gave no answer", n)
		}
	}
	// Nothing was planted, so these found nothing: they do not cry wolf.
	for _, n := range []string{"home", "env", "env-names", "vscode", "netrc", "keyring", "loopback", "abstract", "sockets"} {
		if got[n].Open {
			t.Errorf("%s: %s", n, got[n].Detail)
		}
	}
}

func TestMainRefusesABadTarget(t *testing.T) {
	var out bytes.Buffer
	if status := Main(nil, strings.NewReader(`{"canary":"00"}`), &out); status != 2 {
		t.Errorf("status %d", status)
	}
	if r, err := DecodeAnswer(&out, Names()); err == nil {
		t.Errorf("answer %v", r)
	}
}

func TestCarries(t *testing.T) {
	target := sample(t)
	for text, want := range map[string]bool{
		canary: true, "x" + canary + "y": true, Mark + canary: true, "": false, Mark: false,
		canary[:len(canary)-1]: false, strings.Replace(canary, "0", "1", 1): false, target.Canary: false,
	} {
		if got := target.carries([]byte(text)); got != want {
			t.Errorf("carries(%q) = %v", text, got)
		}
	}
}

func TestNothing(t *testing.T) {
	target := sample(t)
	dir := t.TempDir()
	secret, loop := filepath.Join(dir, "secret"), filepath.Join(dir, "loop")
	if err := os.WriteFile(secret, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROBE_BUS", "unix:path="+secret+",guid=1")
	gone := Path(filepath.Join(dir, "gone"))
	for want, p := range map[string]Place{
		"absent: 1 files":      {Files: []Path{gone}, Env: []string{"PROBE_UNSET", "HOSTTYPE"}},
		"the canary was read":  {Files: []Path{gone, Path(secret)}},
		"is there and refused": {Files: []Path{Path(loop + "/x")}},
		"/secret\" is there":   {Globs: []Path{Path(dir + "/se*")}},
		"PROBE_BUS: ":          {Env: []string{"PROBE_BUS"}},
		"cret\" is there":      {Sockets: []Path{Path(secret)}},
	} {
		target.Places["home"] = p
		r := nothing("home")(target)
		if !strings.Contains(r.Detail, want) || r.Open != !strings.HasPrefix(want, "absent") {
			t.Errorf("%v, want %q", r, want)
		}
	}
}

func TestGitConfig(t *testing.T) {
	for config, want := range map[string]string{
		"[user]\n\tname = \"A\"\n[credential]\n\thelper = \"\"\n[safe]\n\tdirectory = \"/w\"\n": "",
		"[credential]\n\thelper = store\n":             "helper = store",
		"[credential \"https://x\"]\n":                 "[credential \"https://x\"]",
		"[Include]\n\tpath = /x\n":                     "[include]",
		"[includeIf \"gitdir:/\"]\n":                   "[includeif \"gitdir:/\"]",
		"[core]\n\tsshCommand = x\n\thooksPath = y\n":  "sshcommand = x",
		"[url \"ssh://x\"]\n\tinsteadOf = https://x\n": "[url \"ssh://x\"]",
		// All ways to a host lead to itself, and to no other.
		"[url \"https://x.test/\"]\n\tinsteadOf = git@x.test:\n\tinsteadOf = ssh://git@x.test:22/\n": "",
		"[url \"https://x.test/\"]\n\tinsteadOf = git@y.test:\n":                                     "insteadof = git@y.test:",
		"[url \"https://x.test/\"]\n\tinsteadOf = https://x.test.y.test/\n":                          "insteadof = https://x.test.y.test/",
		"[url \"https://x.test/\"]\n[core]\n\tinsteadOf = git@x.test:\n":                             "insteadof = git@x.test:",
		"[url \"https://x.test/a/\"]\n\tinsteadOf = git@x.test:\n":                                   "[url \"https://x.test/a/\"]",
		"[url \"https://x.test/\"]\n\thelper = store\n":                                              "helper = store",
	} {
		if got := dangerous(config); got != want {
			t.Errorf("dangerous(%q) = %q", config, got)
		}
	}
}

// The positive probes must notice when work is not possible.
func TestWorkIsNotPossible(t *testing.T) {
	target := sample(t)
	room := t.TempDir()
	target.Workspace = Path(filepath.Join(room, "workspace"))
	if err := os.WriteFile(string(target.Workspace), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := workspace(target); !r.Open || !strings.Contains(r.Detail, "not possible") {
		t.Errorf("a workspace that is a file: %v", r)
	}
	if err := os.Remove(string(target.Workspace)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(string(target.Workspace), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := workspace(target); r.Open {
		t.Errorf("a workspace: %v", r)
	}
	taken := filepath.Join(room, "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	target.PrivateTmp = []Path{Path(taken)}
	if err := temporaryFiles(target); !errors.Is(err, os.ErrExist) {
		t.Errorf("a name that the host has: %v", err)
	}
	target.PrivateTmp = []Path{Path(filepath.Join(room, "new/free"))}
	t.Setenv("HOME", room)
	for what, do := range map[string]func(*Target) error{"files": temporaryFiles, "home": homeFile, "routes": routes,
		"terminal": terminal, "debugger": debug} {
		if err := do(target); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Seizing must let go: a process that stays traced would hang at its next signal.
func TestTraceLetsGo(t *testing.T) {
	cmd := exec.Command(self, Arg, StandArg)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := trace(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

func TestInheritedDescriptors(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(canary); err != nil {
		t.Fatal(err)
	}
	target := sample(t)
	target.inherited = inherited()
	if r := descriptors(target); !r.Open || !strings.Contains(r.Detail, "the canary was read") {
		t.Errorf("%v", r)
	}
	target.inherited = nil
	if r := descriptors(target); r.Open {
		t.Errorf("%v", r)
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		err  error
		open bool
	}{{nil, true}, {unix.Errno(0), true}, {unix.EPERM, false}, {unix.EFAULT, true}} {
		if r := refused("x", test.err, unix.EPERM); r.Open != test.open {
			t.Errorf("%v: %v", test.err, r)
		}
	}
}
