package sign

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/file/settings"
)

func TestKeyFrom(t *testing.T) {
	for _, tt := range []struct {
		settings string
		want     Key
	}{
		{"", Key{Format: OpenPGP, Program: "gpg"}},
		{"gpg.program=gpg2 user.signingkey=A", Key{Format: OpenPGP, Program: "gpg2", Name: "A"}},
		{"gpg.program=gpg2 gpg.openpgp.program=gpg3", Key{Format: OpenPGP, Program: "gpg3"}},
		{"gpg.format=ssh gpg.program=gpg2", Key{Format: SSH, Program: "ssh-keygen"}},
		{"gpg.format=ssh gpg.ssh.program=p gpg.ssh.defaultkeycommand=c", Key{Format: SSH, Program: "p", DefaultCommand: "c"}},
		{"gpg.format=x509", Key{Format: X509, Program: "gpgsm"}},
		{"user.signingkey=A user.signingkey=B", Key{Format: OpenPGP, Program: "gpg", Name: "B"}},
		{"commit.gpgsign=true", Key{Format: OpenPGP, Program: "gpg", Always: []settings.GitEntry{{Key: "commit.gpgsign", Value: "true"}}}},
	} {
		got, err := KeyFrom(entries(strings.Fields(tt.settings)))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", tt.settings, err, diff)
		}
		if got.Configured() != strings.ContainsAny(tt.settings, "ABc") && !strings.Contains(tt.settings, "gpg.") {
			t.Errorf("%q: configured %v", tt.settings, got.Configured())
		}
		inside := got.Inside("/bin")
		if len(inside) != 3+len(got.Always) || !Is(inside[1].Value) {
			t.Errorf("%q: inside %+v", tt.settings, inside)
		}
		for _, e := range inside {
			if e.Value == got.Name || e.Value == got.Program || e.Value == got.DefaultCommand {
				t.Errorf("%q: %+v is told inside", tt.settings, e)
			}
		}
	}
	if k, err := KeyFrom(entries([]string{"gpg.format=pgp9"})); err == nil {
		t.Errorf("%+v", k)
	}
}

func TestSplitCommand(t *testing.T) {
	for in, want := range map[string]string{
		"ssh-add -L":             "ssh-add|-L",
		"  a  b\tc ":             "a|b|c",
		`a 'b c' "d 'e" f\ g`:    `a|b c|d 'e|f g`,
		`a'b'"c" '' "\""`:        `abc||"`,
		`a '\' x`:                `a|\|x`,
		"sh -c 'x; $(y) | z' $1": "sh|-c|x; $(y) | z|$1",
	} {
		if got, err := splitCommand(in); err != nil || strings.Join(got, "|") != want && !strings.Contains(in, "|") || len(got) == 0 {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "  ", "a 'b", `a "b`, `a\`} {
		if got, err := splitCommand(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// FuzzSSHSignature: a fingerprint comes of nothing but a signature for git.
func FuzzSSHSignature(f *testing.F) {
	const begin, end = "-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n"
	f.Add([]byte(begin + "U1NIU0lHAAAAAQAAAAFrAAAAA2dpdA==\n" + end))
	f.Add([]byte(begin + "U1NIU0lHAAAAAQAAAAFrAAAABGZpbGU=\n" + end))
	f.Add([]byte(begin + "U1NIU0lHAAAAAf////9r\n" + end))
	f.Add([]byte(begin + end))
	f.Fuzz(func(t *testing.T, b []byte) {
		key, err := sshFingerprint(b)
		if err == nil && (len(key) != 50 || !strings.HasPrefix(string(b), begin) || !strings.HasSuffix(string(b), end)) {
			t.Errorf("%q has the key %q", b, key)
		}
	})
}
