package sign

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// ways are how a user may have set up signing; each returns the settings.
var ways = map[string]func(w *world) []string{
	"ssh file": func(w *world) []string {
		return []string{"gpg.format=ssh", "user.signingkey=" + w.sshKey("home/.ssh/id")}
	},
	"ssh public file from home": func(w *world) []string {
		w.sshKey("home/.ssh/id")
		return []string{"gpg.format=ssh", "user.signingkey=~/.ssh/id.pub"}
	},
	"ssh literal in the agent": func(w *world) []string {
		return []string{"gpg.format=ssh", "user.signingkey=key::" + strings.TrimSpace(w.inAgent())}
	},
	"ssh public file in the agent": func(w *world) []string {
		w.write("home/pub", w.inAgent())
		return []string{"gpg.format=ssh", "user.signingkey=" + w.path("home/pub")}
	},
	"ssh default key command": func(w *world) []string {
		w.inAgent()
		return []string{"gpg.format=ssh", "gpg.ssh.defaultkeycommand=ssh-add -L"}
	},
	"ssh program": func(w *world) []string {
		w.script("home/wrap", "exec ssh-keygen \"$@\"")
		return []string{"gpg.format=ssh", "gpg.ssh.program=~/wrap", "user.signingkey=" + w.sshKey("home/.ssh/id")}
	},
	"openpgp": func(w *world) []string {
		return []string{"user.signingkey=" + w.gpgKey()}
	},
	"openpgp by address": func(w *world) []string {
		w.gpgKey()
		return []string{"gpg.format=openpgp", "gpg.program=gpg"}
	},
	"x509": func(w *world) []string {
		return []string{"gpg.format=x509", "user.signingkey=" + w.certificate()}
	},
}

func (w *world) script(rel, body string) {
	w.t.Helper()
	w.write(rel, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(w.path(rel), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// inAgent puts a key into an agent of its own and nowhere else, and returns its
// public half.
func (w *world) inAgent() string {
	w.t.Helper()
	socket := w.path("agent")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 512)); err != nil { // it says where it listens
		w.t.Fatal(err)
	}
	w.config.Environ = append(w.config.Environ, "SSH_AUTH_SOCK="+socket)
	key := w.sshKey("home/.ssh/moved")
	w.host("", "ssh-add", "-q", key)
	public := w.read("home/.ssh/moved.pub")
	for _, f := range []string{key, key + ".pub"} {
		if err := os.Remove(f); err != nil {
			w.t.Fatal(err)
		}
	}
	return public
}

// certificate makes a self-signed certificate that gpgsm trusts, and returns its
// fingerprint.
func (w *world) certificate() string {
	w.t.Helper()
	w.t.Cleanup(func() { w.host("", "gpgconf", "--kill", "all") })
	w.write("home/.gnupg/gpgsm.conf", "disable-crl-checks\n")
	w.write("home/.gnupg/gpg-agent.conf", "allow-loopback-pinentry\n")
	w.write("home/request", "Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign\nSerial: random\nName-DN: CN=Me\nName-Email: "+me+"\n")
	w.host("\n", "gpgsm", "--batch", "--pinentry-mode", "loopback", "--passphrase-fd", "0", "--output", w.path("home/cert"), "--gen-key", w.path("home/request"))
	w.host("", "gpgsm", "--batch", "--import", w.path("home/cert"))
	fingerprint := ""
	for line := range strings.Lines(w.host("", "gpgsm", "--batch", "--with-colons", "--list-keys")) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" && fingerprint == "" {
			fingerprint = fields[9]
		}
	}
	w.write("home/.gnupg/trustlist.txt", fingerprint+" S\n")
	w.host("", "gpgconf", "--kill", "all") // it reads the list at its start
	return fingerprint
}

// TestGitSigns does with real git what people do, for each way to sign, and has
// real git verify it.
func TestGitSigns(t *testing.T) {
	for name, set := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.serve(append(set(w), "commit.gpgsign=true")...)
			w.workflow("sha1")
		})
	}
}

// TestGitSignsSHA256 does the same in a repository of the other hash.
func TestGitSignsSHA256(t *testing.T) {
	for _, name := range []string{"ssh file", "openpgp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.serve(append(ways[name](w), "commit.gpgsign=true")...)
			w.workflow("sha256")
		})
	}
}

func (w *world) workflow(format string) {
	w.t.Helper()
	w.git("ws", "init", "-q", "--object-format="+format, "r")
	w.commit("one", "commit", "-q")
	w.commit("amended", "commit", "-q", "--amend")
	w.commit("asked", "-c", "commit.gpgsign=false", "commit", "-q", "-S")
	w.git("ws/r", "tag", "-s", "-m", "a tag", "v1")
	w.verify("ws/r", "verify-tag", "v1")
	if e := w.last(); !e.Allowed || e.Type != "tag" || e.Subject != "a tag" {
		w.t.Errorf("event of a tag: %+v", e)
	}
	w.git("ws/r", "gc", "-q")
	w.git("ws/r", "checkout", "-q", "-b", "side", "HEAD~1")
	w.commit("side", "commit", "-q")
	w.commit("side two", "commit", "-q", "--author=Other <other@example.test>", "--date=2001-02-03T04:05:06Z")
	w.git("ws/r", "merge", "-q", "-S", "-m", "merged", "v1")
	w.verify("ws/r", "verify-commit", "HEAD")
	if parents := strings.Fields(w.git("ws/r", "log", "-1", "--format=%P")); len(parents) != 2 {
		w.t.Errorf("parents of the merge: %q", parents)
	}
	w.git("ws/r", "checkout", "-q", "-b", "moved", "side~1")
	w.git("ws/r", "rebase", "-q", "--gpg-sign", "--force-rebase", "main")
	w.verify("ws/r", "verify-commit", "HEAD")
	w.verify("ws/r", "verify-commit", "HEAD~1")
	w.git("ws/r", "worktree", "add", "-q", "../linked")
	w.git("ws/linked", "commit", "-q", "--allow-empty", "-m", "from a worktree")
	w.verify("ws/r", "verify-commit", "linked")
	for i, e := range w.events {
		if !e.Allowed || len(e.Payload) != 64 || e.Key == "" || e.Key != w.events[0].Key || e.Reason != "" {
			w.t.Errorf("event %d: %+v", i, e)
		}
	}
	if left, err := os.ReadDir(w.path("run")); err != nil || len(left) > 0 {
		w.t.Errorf("left behind: %v, %v", left, err)
	}
}

// commit changes a file, commits it with args and verifies.
func (w *world) commit(message string, args ...string) {
	w.t.Helper()
	w.write("ws/r/"+strings.ReplaceAll(message, " ", "-"), message+strconv.Itoa(len(w.events)))
	w.git("ws/r", "add", ".")
	w.git("ws/r", append(args, "-m", message)...)
	w.verify("ws/r", "verify-commit", "HEAD")
	if e := w.last(); !e.Allowed || e.Type != "commit" || e.Subject != message {
		w.t.Errorf("event of %q: %+v", message, e)
	}
}

// TestVerifyInside: what is no signing goes to the real programs.
func TestVerifyInside(t *testing.T) {
	for name, want := range map[string]string{"ssh file": "Good \"git\" signature", "openpgp": "Signature made"} {
		w := newWorld(t)
		w.serve(ways[name](w)...)
		w.git("ws", "init", "-q", "r")
		w.git("ws/r", "commit", "-q", "--allow-empty", "-S", "-m", "x")
		w.gitArgs = append(w.gitArgs, "-c", "gpg.ssh.allowedSignersFile="+w.path("home/allowed"))
		out, err := w.try("ws/r", "verify-commit", "HEAD")
		if !strings.Contains(out, want) || (err == nil) != (name == "ssh file") { // no public key of OpenPGP is inside
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if _, err := exec.LookPath("gpgconf"); err == nil {
			cmd := exec.Command("gpgconf", "--kill", "all")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.path("inside")}
			_ = cmd.Run()
		}
	}
}
