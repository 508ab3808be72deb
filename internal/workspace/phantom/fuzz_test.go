package phantom

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// canary has a byte that no key is made of in each run of six, so it is in a phantom
// only if a value is.
const canary = "Xq7%Zr4^Lw9+Tb2~Kd5!Hn8"

var names = []string{
	".env", "a.json", "secrets.yml", "a.ini", "a.tfvars", "secrets.toml", "a.tfstate", ".netrc", ".pgpass", ".htpasswd", ".git-credentials",
	"a.pem", "a.key", "own", ".docker/config.json", ".kube/config", ".aws/credentials", "a.properties", ".env.bak",
}

// FuzzPhantom: whatever is around it, a secret is not shown; nor does a phantom depend
// on chance, and JSON stays JSON.
func FuzzPhantom(f *testing.F) {
	for i, n := range names {
		f.Add(uint8(i), []byte("A="), []byte("\n"))
		f.Add(uint8(i), []byte("{\"a\": [\""), []byte("\"]}"))
		f.Add(uint8(i), []byte("a: |\n  b "), []byte("\nc: &x {d: e}\n"))
		for _, s := range corpus {
			if data, _ := s.clean(); s.rel == n {
				f.Add(uint8(i), []byte(data[:len(data)/2]), []byte(data[len(data)/2:]))
			}
		}
	}
	f.Add(uint8(11), []byte("-----BEGIN CERTIFICATE-----\n"), []byte("\n-----END CERTIFICATE-----\n"))
	f.Add(uint8(0), []byte("A=https://u:p@"), []byte(".test/a?b=c#d"))
	f.Add(uint8(0), []byte("# password is "), []byte(" or so"))
	f.Fuzz(func(t *testing.T, which uint8, before, after []byte) {
		if len(before)+len(after) > 8<<10 {
			return
		}
		rel := names[int(which)%len(names)]
		data := string(before) + canary + string(after)
		out, kind := mustPhantom(t, rel, data)
		if run := leaks(canary, out); run != "" {
			t.Errorf("%s: %q of the secret is in %s\n%s\nof\n%s", rel, run, kind, out, data)
		}
		if kind == Values && json.Valid([]byte(data)) && strings.HasSuffix(rel, ".json") && !json.Valid([]byte(out)) {
			t.Errorf("%s is no JSON:\n%s\nof\n%s", rel, out, data)
		}
	})
}

// frames are the places of a value under a key that names a secret.
var frames = []struct{ rel, frame, not string }{
	{".env", "PORT=1\nDB_PASSWORD=%s\nB=2\n", "\n\r#;'\"`\\ "}, {".env", "DB_PASSWORD='%s'\n", "'"}, {".env", "export DB_PASSWORD=\"%s\" # x\n", "\"\\"},
	{".env", "#DB_PASSWORD=%s\n", "\n\r#;'\"`\\ "}, {".env", "U=redis://me:%s@h.test/1\n", "\n\r#;'\"`\\ @"},
	{"a.json", "{\"a\":{\"password\":\"%s\"},\"b\":1}", "\"\\\n\r\t"}, {"a.json", "{\"tokens\":[\"%s\"]}", "\"\\\n\r\t"},
	{"a.tfstate", "{\"attributes\":{\"name\":\"%s\"}}", "\"\\\n\r\t"},
	{"secrets.yml", "a:\n  password: %s\n  b: 1\n", "\n\r#;'\"\\:"}, {"secrets.yml", "password: \"%s\"\nb: 1\n", "\"\\"}, {"secrets.yml", "password: '%s'\nb: 1\n", "'"},
	{"secrets.yml", "tokens:\n  - %s\n", "\n\r#;'\"\\:"}, {"secrets.yml", "password: |\n  %s\nb: 1\n", "\n\r"},
	{"a.ini", "[x]\npassword = %s\n", "\n\r#;'\"\\"}, {"a.tfvars", "password = \"%s\"\nb = 1\n", "\"\\\n\r"}, {"a.toml", "[x]\npassword = '%s'\n", "'\n\r"},
	{".netrc", "machine a.test login me password %s\n", "\n\r# \t\v\f\u0085\u00a0"}, {".pgpass", "h.test:1:d:me:%s\n", "\n\r#:\\"}, {"a.key", "%s\n", "\n\r"},
}

// FuzzSecret: a value under a key that names a secret is not shown, whatever it is,
// and the keys are.
func FuzzSecret(f *testing.F) {
	for i := range frames {
		f.Add(uint8(i), "correcthorse")
		f.Add(uint8(i), "development.test")
		f.Add(uint8(i), "12345678901234567")
		f.Add(uint8(i), "grün*und blau, 7 Mal!")
		f.Add(uint8(i), "jane@mail.test")
	}
	f.Fuzz(func(t *testing.T, which uint8, secret string) {
		fr := frames[int(which)%len(frames)]
		bare := strings.TrimSpace(secret)
		if len(secret) > 1<<10 || !utf8.ValidString(secret) || bare != secret || strings.ContainsAny(secret, fr.not+"/={[$\x00") || strings.Contains(secret, "-----") || strings.Contains(secret, "LS0t") {
			return
		}
		for _, r := range secret {
			if r < ' ' && r != '\n' && r != '\t' {
				return
			}
		}
		data := fmt.Sprintf(fr.frame, secret)
		out, kind := mustPhantom(t, fr.rel, data)
		frame := fmt.Sprintf(fr.frame, "")
		for i := 0; i+run <= len(secret); i++ {
			w := secret[i : i+run]
			if !strings.Contains(frame, w) && strings.Contains(out, w) && !switches().MatchString(bare) && !words[strings.ToLower(bare)] {
				t.Fatalf("%q of the secret is in %s\n%s\nof\n%s", w, kind, out, data)
			}
		}
		for _, word := range []string{"PORT=1", "DB_PASSWORD=", "password", "tokens", "machine", "attributes"} {
			if kind == Values && strings.Contains(frame, word) && !strings.Contains(out, word) {
				t.Errorf("%s is gone from\n%s\nof\n%s", word, out, data)
			}
		}
	})
}

// slow is matchParts as one would explain it.
func slow(parts, path []string) bool {
	if len(parts) == 0 {
		return len(path) == 0
	}
	if parts[0] == "**" {
		return slow(parts[1:], path) || len(path) > 0 && slow(parts, path[1:])
	}
	return len(path) > 0 && slowPart(parts[0], path[0]) && slow(parts[1:], path[1:])
}

func slowPart(p, s string) bool {
	if p == "" {
		return s == ""
	}
	if p[0] == '*' {
		return slowPart(p[1:], s) || s != "" && slowPart(p, s[1:])
	}
	if s == "" {
		return false
	}
	ok, n := one(p, s[0], true)
	return ok && slowPart(p[n:], s[1:])
}

// FuzzGlob: a glob that is taken matches as one would explain it, and revealing with
// it never masks more.
func FuzzGlob(f *testing.F) {
	for _, g := range []string{"*.secret", "conf/**/token", "**/a/**/b", "[a-c]?/\\*x", "a*b*c", "[!a]", "[]a]", "x/**"} {
		f.Add(g, "conf/a/b/token")
		f.Add(g, "a/a/b/b")
		f.Add(g, "aXbYc")
	}
	f.Fuzz(func(t *testing.T, glob, rel string) {
		if len(glob) > 24 || len(rel) > 24 || rel == "" || strings.Contains(rel, "//") || strings.HasPrefix(rel, "/") || strings.HasSuffix(rel, "/") {
			return
		}
		p, err := parse(glob)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "mask ") {
				t.Error(err)
			}
			return
		}
		if got, want := p.match(rel), slow(p.parts, strings.Split(rel, "/")); got != want {
			t.Errorf("%q with %q: %t, want %t", glob, rel, got, want)
		}
		r, err := Builtin().With([]string{glob})
		if err != nil {
			t.Fatal(err)
		}
		if Builtin().Match(rel) && !r.Match(rel) || r.Without([]string{glob}).Match(rel) && !r.Match(rel) {
			t.Errorf("%q with %q", glob, rel)
		}
	})
}
