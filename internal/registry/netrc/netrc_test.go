package netrc

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	const text = "# mine\nmachine a.test login me password s3cret\nmachine b.test\n  login you\n  password #hash\nmacdef init\nmachine c.test login x password y\n\n" +
		"machine d.test password only\nmachine e.test login nobody\ndefault login any password thing\nmachine f.test login late password fine\n"
	for host, want := range map[string]string{"a.test": "me:s3cret", "A.test": "me:s3cret", "b.test": "you:#hash", "c.test": "", "d.test": ":only", "e.test": "", "f.test": "late:fine", "z.test": "", "": ""} {
		l, ok := Find([]byte(text), host)
		got := ""
		if ok {
			got = l.User + ":" + l.Password
		}
		if got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// FuzzFind: a login is only ever found for a machine that the file names.
func FuzzFind(f *testing.F) {
	f.Add([]byte("machine a.test login me password s3cret"), "a.test")
	f.Add([]byte("default password x machine"), "x")
	f.Add([]byte("macdef x\nmachine a.test password y\n\n"), "a.test")
	f.Fuzz(func(t *testing.T, data []byte, host string) {
		if _, ok := Find(data, host); ok && !strings.Contains(strings.ToLower(string(data)), strings.ToLower(host)) {
			t.Errorf("%q for %q", data, host)
		}
	})
}
