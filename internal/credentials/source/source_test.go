package source

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// read reads a source and holds an error to not showing the canary.
func read(t *testing.T, r Ref, h Host) (string, error) {
	t.Helper()
	r.Name = "it"
	v, err := r.Read(t.Context(), h)
	if err != nil && strings.Contains(err.Error()+fault.HintOf(err), "canary") {
		t.Errorf("the error shows the secret: %v", err)
	}
	return v.Reveal(), err
}

func wants(t *testing.T, r Ref, h Host, want, wrong string) {
	t.Helper()
	got, err := read(t, r, h)
	if got != want || wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error()+" | "+fault.HintOf(err), wrong)) {
		t.Errorf("%s: %q, %v (hint %q), want %q, %q", r, got, err, fault.HintOf(err), want, wrong)
	}
}

func write(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVariable(t *testing.T) {
	h := Host{Environ: []string{"A=" + text, "B=", "C=x\ny", "AA=no"}}
	wants(t, Ref{From: "env", Arg: "A"}, h, text, "")
	wants(t, Ref{From: "env", Arg: "B"}, h, "", "it is empty")
	wants(t, Ref{From: "env", Arg: "C"}, h, "", "more than one line")
	wants(t, Ref{From: "env", Arg: "D"}, h, "", "the variable is not set | export D")
	wants(t, Ref{From: "env"}, Host{Environ: []string{"=x"}}, "", "not set")
	wants(t, Ref{From: "vault"}, h, "", `no source "vault"`)
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	ws, away := filepath.Join(dir, "ws"), filepath.Join(dir, "away")
	good := write(t, away+"/good", text+"\n", 0o600)
	write(t, ws+"/mine", text, 0o600)
	h := Host{Home: away, Workspaces: []string{ws, link(t, ws, dir+"/wslink")}}
	file := func(path string) Ref { return Ref{From: "file", Arg: path} }

	wants(t, file(good), h, text, "")
	wants(t, file("~/good"), h, text, "")
	wants(t, file(write(t, away+"/ro", text, 0o400)), h, text, "")
	wants(t, file(link(t, good, away+"/link")), h, text, "")
	wants(t, file(write(t, away+"/full", strings.Repeat("x", maxValue)+"\n", 0o600)), h, strings.Repeat("x", maxValue), "")

	wants(t, file(away+"/none"), h, "", "no such file")
	wants(t, file("good"), h, "", "not absolute")
	wants(t, file(away), h, "", "not a regular file")
	wants(t, file("/dev/null"), h, "", "not a regular file")
	wants(t, file(write(t, away+"/group", text, 0o640)), h, "", "open to other users (mode 0640) | chmod 600 ")
	wants(t, file(write(t, away+"/others", text, 0o604)), h, "", "chmod 600 ")
	wants(t, file(write(t, away+"/empty", "", 0o600)), h, "", "it is empty")
	wants(t, file(write(t, away+"/two", text+"\nb\n", 0o600)), h, "", "more than one line")
	wants(t, file(write(t, away+"/nul", text+"\x00", 0o600)), h, "", "control character")
	wants(t, file(write(t, away+"/long", strings.Repeat("x", maxValue+9), 0o600)), h, "", "longer than 64 KiB")
	if err := unix.Mkfifo(away+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, file(away+"/fifo"), h, "", "not a regular file")

	// Whatever of the way to it an agent can write is refused.
	link(t, good, ws+"/out")
	for _, path := range []string{ws + "/mine", ws + "/../ws/mine", dir + "/wslink/mine", ws + "/out", link(t, ws+"/mine", away+"/in"),
		link(t, ws+"/out", away+"/through"), link(t, "../ws", away+"/dir") + "/out", ws + "/none"} {
		wants(t, file(path), h, "", "where an agent can write")
	}
	wants(t, file(link(t, "loop", away+"/loop")), h, "", "too many levels of symbolic links")
	if os.Getuid() == 0 {
		foreign := write(t, away+"/foreign", text, 0o600)
		if err := os.Chown(foreign, 1001, 1001); err != nil {
			t.Fatal(err)
		}
		wants(t, file(foreign), h, "", "belongs to another user (1001)")
	}
}

func command(argv ...string) Ref { return Ref{From: "command", Argv: argv} }

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	tool := write(t, dir+"/bin/tool", "#!/bin/sh\nprintf '%s\\n' \"$1\"\n", 0o755)
	planted := write(t, ws+"/bin/tool", "#!/bin/sh\necho planted\n", 0o755)
	h := Host{Home: dir, Workspaces: []string{ws}, Environ: []string{"PATH=" + ws + "/bin::.:" + dir + "/bin:/usr/bin:/bin", "KEEP=k",
		"GNUPGHOME=" + ws + "/gnupg", "OPTS=--store=" + ws, "OLDPWD=" + ws, "CANARY=" + text}}

	wants(t, command("tool", "a$(id);b"), h, "a$(id);b", "")
	wants(t, command(tool, "x"), h, "x", "")
	wants(t, command("~/bin/tool", "x"), h, "x", "")
	wants(t, command("sh", "-c", `pwd`), h, "/", "")
	wants(t, command("sh", "-c", `echo "$KEEP,$GNUPGHOME,$OPTS,$OLDPWD,$PATH"`), h, "k,,,,"+dir+"/bin:/usr/bin:/bin", "")
	wants(t, command("sh", "-c", `read x; echo "got $x."`), h, "got .", "")
	if group, err := read(t, command("sh", "-c", "ps -o pgid= -p $$ | tr -d ' '"), h); err != nil || group == fmt.Sprint(syscall.Getpgrp()) {
		t.Errorf("its process group is %q, %v", group, err)
	}

	wants(t, command(), h, "", "there is no command")
	wants(t, command("no-such"), h, "", "no such program on PATH")
	wants(t, command("./tool"), h, "", "the program is a name on PATH")
	wants(t, command(planted), h, "", "where an agent can write")
	wants(t, command(link(t, planted, dir+"/bin/linked")), h, "", "where an agent can write")
	wants(t, command("linked"), h, "", "where an agent can write")
	wants(t, command("sh", planted), h, "", "an argument: ")
	wants(t, command("sh", "--rcfile="+planted), h, "", "where an agent can write")
	wants(t, command(write(t, dir+"/plain", "x", 0o644)), h, "", "permission denied")
	wants(t, command("sh", "-c", "true"), h, "", "it is empty")
	wants(t, command("sh", "-c", "echo a; echo b"), h, "", "more than one line")
	wants(t, command("sh", "-c", "exec cat /dev/zero"), h, "", "more than 64 KiB")
	wants(t, command("sh", "-c", "echo $CANARY; echo oops >&2; echo more >&2; exit 3"), h, "", "exit status 3: oops")
	wants(t, command("sh", "-c", "echo $CANARY; echo bad $CANARY >&2; exit 3"), h, "", "exit status 3")
	wants(t, command("sh", "-c", `printf '\033[31mred\n' >&2; exit 1`), h, "", `"\x1b[31mred"`)
	wants(t, command("sh", "-c", "kill -9 $$"), h, "", "signal: killed")
}

// A command that does not end is ended with all that it started, and one whose child
// keeps the output does not hold us up for longer.
func TestCommandEnds(t *testing.T) {
	dir := t.TempDir()
	h := Host{Environ: os.Environ(), Patience: 300 * time.Millisecond}
	for name, c := range map[string]struct{ script, wrong string }{
		"slow":      {"echo $$ >" + dir + "/slow; sleep 600 & sleep 600", "it did not end in 300ms | run it by hand"},
		"left":      {"echo $$ >" + dir + "/left; sleep 600 & echo x", "it left a program behind"},
		"forgiving": {"echo $$ >" + dir + "/forgiving; trap '' PIPE TERM; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done 2>/dev/null", ""},
	} {
		h := h
		if name == "left" {
			h.Patience = time.Minute
		}
		_, err := read(t, command("sh", "-c", c.script), h)
		if err == nil || !strings.Contains(err.Error()+" | "+fault.HintOf(err), c.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		gone(t, dir+"/"+name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := command("sleep", "600").Read(ctx, h); err == nil {
		t.Error("a command ran after the end")
	}
}

// gone wants the process group, whose leader's id is in a file, to be no more.
func gone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	fmt.Sscan(string(data), &pid)
	for range 1000 { // what was killed is reaped by somebody else
		if syscall.Kill(-pid, 0) == syscall.ESRCH || zombies(pid) {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("group %d of %s is still there", pid, file)
}

// zombies holds for a group in which nothing runs.
func zombies(group int) bool {
	out, err := exec.Command("ps", "-e", "-o", "pgid=,stat=").Output()
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(out)) {
		var id int
		var state string
		if fmt.Sscan(line, &id, &state); id == group && !strings.HasPrefix(state, "Z") {
			return false
		}
	}
	return true
}

func TestKeyring(t *testing.T) {
	name := fmt.Sprintf("ringfence-test-%d", os.Getpid())
	runtime.LockOSThread() // the thread has to possess what it adds to
	defer runtime.UnlockOSThread()
	id, err := unix.AddKey("user", name, []byte(text), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		t.Fatalf("add a key to the user's keyring: %v", err)
	}
	defer unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	wants(t, Ref{From: "keyring", Arg: name}, Host{}, text, "")
	wants(t, Ref{From: "keyring", Arg: name + "-none"}, Host{}, "", "no such key | keyctl padd user")
	wants(t, Ref{From: "keyring"}, Host{}, "", "a key has a description")
}

// gnupg makes a store of pass with a key that has no passphrase.
func gnupg(t *testing.T) Host {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "secret") // short: sockets are made in it
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GNUPGHOME=" + dir + "/gnupg", "PASSWORD_STORE_DIR=" + dir + "/store", "LANG=C.UTF-8"}
	run := func(stdin string, argv ...string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Stdin = env, strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s (it must be installed): %v\n%s", argv[0], err, out)
		}
	}
	if err := os.Mkdir(dir+"/gnupg", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run("", "gpgconf", "--kill", "all")
		os.RemoveAll(dir)
	})
	run("", "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", "t@example.test", "default", "default", "never")
	run("", "pass", "init", "t@example.test")
	run(text+"\nuser: me\n", "pass", "insert", "-m", "web/api")
	return Host{Environ: env}
}

func TestPass(t *testing.T) {
	h := gnupg(t)
	wants(t, Ref{From: "pass", Arg: "web/api"}, h, text, "")
	wants(t, Ref{From: "pass", Arg: "web/none"}, h, "", "web/none is not in the password store")
	wants(t, Ref{From: "pass", Arg: "-c"}, h, "", "an entry has a name")
	h.Workspaces = []string{strings.TrimPrefix(h.Environ[1], "HOME=") + "/store"}
	wants(t, Ref{From: "pass", Arg: "web/api"}, h, "", "is not in the password store") // which is HOME's now
	wants(t, Ref{From: "pass", Arg: "web/api"}, Host{Environ: []string{"PATH=/nowhere"}}, "", "no such program on PATH | install pass")
}

// There is no service to be had here: a stand-in speaks as secret-tool does.
func TestSecretService(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/secret-tool", "#!/bin/sh\n[ \"$*\" = 'lookup service api user me' ] || exit 1\nprintf %s '"+text+"'\n", 0o755)
	h := Host{Environ: []string{"PATH=" + dir + ":/usr/bin:/bin"}}
	wants(t, Ref{From: "secret-service", Arg: "service=api,user=me"}, h, text, "")
	wants(t, Ref{From: "secret-service", Arg: "service=api"}, h, "", "nothing there has these attributes | secret-tool store")
	for _, bad := range []string{"", "a", "a=", "=b", "--all=x", "a=-x"} {
		wants(t, Ref{From: "secret-service", Arg: bad}, h, "", "it is found by ATTR=VALUE")
	}
	wants(t, Ref{From: "secret-service", Arg: "a=b"}, Host{Environ: []string{"PATH=/nowhere"}}, "", "no such program on PATH | install libsecret-tools")
	// The real one without a bus has something to complain about.
	if _, err := exec.LookPath("secret-tool"); err != nil {
		t.Fatal("secret-tool is missing: install libsecret-tools")
	}
	wants(t, Ref{From: "secret-service", Arg: "a=b"}, Host{Environ: []string{"PATH=/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere"}}, "", "exit status 1: secret-tool: ")
}
