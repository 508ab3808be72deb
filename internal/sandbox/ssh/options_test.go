package ssh

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the user's configuration passes on, a session does not.
func TestOptionsWin(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal("no ssh here: run `make tools`")
	}
	conf := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(conf, []byte("Host *\n ForwardAgent yes\n ForwardX11 yes\n GSSAPIAuthentication yes\n GSSAPIDelegateCredentials yes\n UpdateHostKeys yes\n SetEnv TOKEN=abc\n PermitLocalCommand yes\n RequestTTY force\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, append(append([]string{"-F", conf, "-G"}, options...), "--", "box", "true")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	has := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		has[name] += value
	}
	for name, want := range map[string]string{"forwardagent": "no", "forwardx11": "no", "gssapidelegatecredentials": "no", "updatehostkeys": "false", "setenv": "RINGFENCE=1",
		"permitlocalcommand": "no", "requesttty": "false"} {
		if got, told := has[name]; got != want && told {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}
