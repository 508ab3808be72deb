package decoy_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/credentials/decoy"
	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

func newSet(tb testing.TB) decoy.Set {
	tb.Helper()
	s, err := decoy.Make("session", rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func needles(tb testing.TB, s decoy.Set) *leakscan.Set {
	tb.Helper()
	n, err := leakscan.New(s.Needles()...)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestShapes(t *testing.T) {
	const home = "/home/u"
	s := newSet(t)
	shapes := map[string]*regexp.Regexp{
		home + "/.ssh/id_ed25519_prod": regexp.MustCompile(`^-----BEGIN OPENSSH PRIVATE KEY-----\n([A-Za-z0-9+/]{70}\n)+[A-Za-z0-9+/=]{1,70}\n-----END OPENSSH PRIVATE KEY-----\n$`),
		home + "/.aws/credentials.bak": regexp.MustCompile(`^\[default\]\naws_access_key_id = AKIA[A-Z2-7]{16}\naws_secret_access_key = [A-Za-z0-9+/]{40}\n$`),
		home + "/.config/github-token": regexp.MustCompile(`^ghp_[A-Za-z0-9]{36}\n$`),
		home + "/.env.production":      regexp.MustCompile(`^NODE_ENV=production\nDATABASE_URL=postgres://app:\w{28}@db.internal:5432/app\nSTRIPE_SECRET_KEY=sk_live_\w{32}\n$`),
	}
	files := s.Files(home)
	if len(files) != len(shapes) {
		t.Errorf("%d files", len(files))
	}
	for _, f := range files {
		if re := shapes[f.Path]; re == nil || !re.Match(f.Data) {
			t.Errorf("%s: %q", f.Path, f.Data)
		}
		if bytes.Contains(bytes.ToLower(f.Data), []byte("ringfence")) || bytes.Contains(f.Data, []byte("decoy")) {
			t.Errorf("%s says what it is", f.Path)
		}
	}
	name, value := s.Env()
	if _, secret := knownsecrets.Env(name); !secret || len(value) < 20 {
		t.Errorf("%s does not look like a secret", name)
	}
}

// TestKeyIsProper: to OpenSSH it is a key like any other.
func TestKeyIsProper(t *testing.T) {
	for range 8 {
		dir := t.TempDir()
		files := newSet(t).Files("/home/u")
		if _, err := decoy.Plant(dir, files); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f decoy.File) bool { return f.Name == decoy.SSHKey })
		out, err := exec.Command("ssh-keygen", "-y", "-P", "", "-f", files[i].Host(dir)).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "ssh-ed25519 AAAA") {
			t.Errorf("ssh-keygen: %v, %s", err, out)
		}
	}
}

func TestUnique(t *testing.T) {
	seed := bytes.Repeat([]byte{7}, 32)
	of := func(session string, seed []byte) string {
		s, err := decoy.Make(session, bytes.NewReader(seed))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, n := range s.Needles() {
			b.WriteString(n.Secret + "\n")
		}
		return b.String()
	}
	if once, again := of("a", seed), of("a", seed); once != again {
		t.Error("the same session has others")
	}
	one := strings.Fields(of("a", seed))
	for _, other := range []string{of("b", seed), of("a", bytes.Repeat([]byte{8}, 32))} {
		for _, secret := range one {
			if strings.Contains(other, secret) {
				t.Error("two sessions have one decoy")
			}
		}
	}
	if _, err := decoy.Make("a", bytes.NewReader(seed[:31])); err == nil {
		t.Error("made without enough random")
	}
}

// TestEveryDecoyIsFound: sent whole, line by line, dumped or encoded once more.
func TestEveryDecoyIsFound(t *testing.T) {
	s := newSet(t)
	set := needles(t, s)
	sent := map[string][]byte{}
	for _, f := range s.Files("/home/u") {
		sent[f.Name] = f.Data
	}
	name, value := s.Env()
	sent[decoy.InEnv] = []byte("HOME=/home/u\x00" + name + "=" + value + "\x00PATH=/bin\x00")
	for name, data := range sent {
		for how, stream := range map[string][]byte{
			"whole":        data,
			"hex":          []byte(hex.EncodeToString(data)),
			"dump":         []byte(hex.Dump(data)),
			"base64":       []byte(base64.StdEncoding.EncodeToString(data)),
			"base64, more": []byte(base64.URLEncoding.EncodeToString(append([]byte("xy"), data...))),
			"twice":        []byte(base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(data)))),
		} {
			for _, size := range []int{1, 64, 1 << 16} {
				scanner, found := set.Scanner(), ""
				for chunk := range slices.Chunk(stream, size) {
					if n, _, ok := scanner.Scan(chunk); ok && found == "" {
						found = n
					}
				}
				if found != name {
					t.Errorf("%s, %s, chunks of %d: found is %q", name, how, size, found)
				}
			}
		}
		lines := 0
		for line := range bytes.Lines(data) {
			if n, _, ok := set.Find(line); ok && n == name {
				lines++
			}
		}
		if lines == 0 {
			t.Errorf("%s: line by line, it is not found", name)
		}
	}
}

func TestDecoysAreNotPrinted(t *testing.T) {
	s := newSet(t)
	b, err := json.Marshal(map[string]any{"set": s})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %+v %#v %s %d %v %s", s, s, s, s, s, s.Needles(), b)
	if name, form, found := needles(t, s).Find([]byte(text)); found {
		t.Errorf("%s is printed as %s", name, form)
	}
}

func TestPlant(t *testing.T) {
	dir := t.TempDir()
	files := newSet(t).Files("/home/u")
	hosts, err := decoy.Plant(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		host := f.Host(dir)
		st, err := os.Lstat(host)
		if err != nil || st.Mode() != 0o600 || hosts[host] != f.Name {
			t.Errorf("%s: %v, %v, planted as %q", host, st, err, hosts[host])
		}
		if b, err := os.ReadFile(host); err != nil || !bytes.Equal(b, f.Data) {
			t.Errorf("%s: %q, %v", host, b, err)
		}
	}
	if _, err := decoy.Plant(dir, files); err == nil {
		t.Error("what lay there was replaced")
	}
}
