package broker

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
)

// tool runs a program on the host that must succeed.
func (s *scene) tool(argv ...string) string {
	s.t.Helper()
	r := s.host(argv...)
	if r.Status != 0 {
		s.t.Fatalf("%q: %s", argv, r.show())
	}
	return r.Stdout
}

// sshSigner makes the user one who signs with a key of ssh.
func sshSigner(s *scene) (verify []string) {
	key := filepath.Join(s.State, "keys/id_sign")
	s.write(key+".dir", "", 0o600)
	s.tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "signer", "-f", key)
	public := s.tool("cat", key+".pub")
	signers := s.write(filepath.Join(s.State, "signers"), "a@a.test "+public, 0o600)
	s.home(".gitconfig", "[user]\n\tname = A\n\temail = a@a.test\n\tsigningkey = "+key+".pub\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n[tag]\n\tgpgsign = true\n", 0o600)
	return []string{"-c", "gpg.ssh.allowedSignersFile=" + signers}
}

// gpgSigner makes the user one who signs with GnuPG.
func gpgSigner(s *scene) (verify []string) {
	dir := filepath.Join(s.State, "gnupg")
	s.write(filepath.Join(dir, "gpg-agent.conf"), "", 0o600)
	s.tool("chmod", "700", dir)
	s.env = append(s.env, "GNUPGHOME="+dir)
	s.t.Cleanup(func() {
		cmd := exec.Command("gpgconf", "--kill", "all")
		cmd.Env = append(s.Environ(), "GNUPGHOME="+dir)
		cmd.Run()
	})
	s.tool("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key", "A <a@a.test>", "ed25519", "sign", "never")
	var key string
	for line := range strings.Lines(s.tool("gpg", "--batch", "--with-colons", "-K")) {
		if f := strings.Split(line, ":"); f[0] == "fpr" {
			key = f[9]
		}
	}
	s.home(".gitconfig", "[user]\n\tname = A\n\temail = a@a.test\n\tsigningkey = "+key+"\n[commit]\n\tgpgsign = true\n[tag]\n\tgpgsign = true\n", 0o600)
	return nil
}

// Commits and tags are signed inside by a key that stays outside; nothing else is.
func TestSigning(t *testing.T) {
	need(t, "git", "ssh-keygen", "gpg", "gpgconf")
	for name, signer := range map[string]func(*scene) []string{"ssh": sshSigner, "gpg": gpgSigner} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			verify := signer(s)
			s.tool("git", "init", "-q", "-b", "main", ".")
			s.tool("git", "commit", "-q", "--no-gpg-sign", "--allow-empty", "-m", "unsigned")
			h := s.hold("run", "--", "sh")
			if out, ok := h.try("git commit -q -S --allow-empty -m 'signed inside' && git commit -q --allow-empty -m 'of itself' && git tag -s -m signed v1"); !ok {
				t.Fatalf("%s", out)
			}
			git := append([]string{"git"}, verify...)
			for _, what := range []string{"HEAD", "HEAD~1"} {
				if r := s.host(append(git, "verify-commit", what)...); r.Status != 0 {
					t.Errorf("%s does not verify outside: %s", what, r.show())
				}
			}
			if r := s.host(append(git, "verify-tag", "v1")...); r.Status != 0 {
				t.Errorf("the tag does not verify outside: %s", r.show())
			}
			if r := s.host(append(git, "verify-commit", "HEAD~2")...); r.Status == 0 {
				t.Errorf("control: what is not signed verifies: %s", r.show())
			}
			program := "$(git config gpg.ssh.program || git config gpg.program)"
			for what, line := range map[string]string{
				"any text":          `echo any text > p; ` + program + ` -Y sign -n git -f "$(git config user.signingkey)" p && cat p.sig || echo any text | ` + program + ` -bsau "$(git config user.signingkey)"`,
				"another namespace": `git cat-file commit HEAD > p; ` + program + ` -Y sign -n file -f "$(git config user.signingkey)" p && cat p.sig`,
				"the endpoint":      `curl -sS -d 'any text' http://127.0.0.1:809/sign`,
				"somebody else's":   `git -c user.name=Mallory -c user.email=m@m.test commit -q -S --allow-empty -m forged && git cat-file commit HEAD`,
				"no commit": `printf 'tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@a.test> 1 +0000\ncommitter A <a@a.test> 1 +0000\nx evil\n\nx' > p; ` +
					program + ` -Y sign -n git -f "$(git config user.signingkey)" p && cat p.sig || ` + program + ` -bsau "$(git config user.signingkey)" < p`,
			} {
				out, _ := h.try(line)
				if strings.Contains(out, "BEGIN SSH SIGNATURE") || strings.Contains(out, "BEGIN PGP SIGNATURE") {
					t.Errorf("%s was signed:\n%s", what, out)
				}
			}
			out := h.say("env; ls -la ~/.ssh ~/.gnupg /run/user/* 2>/dev/null; ls " + s.State + " 2>/dev/null")
			if strings.Contains(out, "SSH_AUTH_SOCK") || strings.Contains(out, "S.gpg-agent") || strings.Contains(out, "id_sign") {
				t.Errorf("inside:\n%s", out)
			}
			h.end()
			log := s.ringfence("log", "--json")
			if n := strings.Count(log.Stdout, `"via":"sign"`); n < 6 {
				t.Errorf("%d records of signatures: %s", n, log.Stdout)
			}
			signed, refused := 0, 0
			for _, j := range s.Journal() {
				if j.Kind == journal.Broker && j.Via == "sign" {
					if j.Verdict == journal.Allow {
						signed++
					} else {
						refused++
					}
				}
			}
			if signed != 3 || refused < 3 {
				t.Errorf("the journal has %d signatures and %d refusals\n%s", signed, refused, log.Stdout)
			}
		})
	}
}

// Switched off, nothing inside signs.
func TestSigningOff(t *testing.T) {
	s := begin(t)
	sshSigner(s)
	s.policy("[broker]\nsign = false\n")
	s.tool("git", "init", "-q", "-b", "main", ".")
	r := s.ringfence("run", "--", "sh", "-c", "git commit -q -S --allow-empty -m x; git cat-file commit HEAD; curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:809/sign")
	if strings.Contains(r.Stdout, "SIGNATURE") || !strings.HasSuffix(r.Stdout, "404") {
		t.Error(r.show())
	}
}
