package phantom

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// leaks returns a run of the secret that is in out.
func leaks(secret, out string) string {
	for i := 0; i+run <= len(secret); i++ {
		if strings.Contains(out, secret[i:i+run]) {
			return secret[i : i+run]
		}
	}
	return ""
}

func TestCorpus(t *testing.T) {
	for _, s := range corpus {
		data, secrets := s.clean()
		if len(secrets) == 0 {
			t.Fatalf("%s marks no secret", s.rel)
		}
		out, kind := mustPhantom(t, s.rel, data)
		if kind != Values {
			t.Errorf("%s is %s", s.rel, kind)
		}
		for _, secret := range secrets {
			if run := leaks(secret, out); run != "" {
				t.Errorf("%s: %q of %q is in\n%s", s.rel, run, secret, out)
			}
		}
		other, _, err := Phantom(s.rel, []byte(data), []byte("another session's seed"))
		if err != nil || string(other) == out {
			t.Errorf("%s: two sessions have one phantom (%v)", s.rel, err)
		}
		for _, secret := range secrets {
			if run := leaks(secret, string(other)); run != "" {
				t.Errorf("%s: %q of %q is in\n%s", s.rel, run, secret, other)
			}
		}
		for i := 0; i < len(data); i += 7 { // a file that is being written
			if out, _, _ := Phantom(s.rel, []byte(data[:i]), seed); leaksMost(secrets, string(out)) != "" {
				t.Fatalf("%s: %q cut at %d is in\n%s", s.rel, leaksMost(secrets, string(out)), i, out)
			}
		}
	}
}

// leaksMost returns a secret of some length that is in out as a whole, or nearly.
func leaksMost(secrets []string, out string) string {
	for _, s := range secrets {
		if len(s) > 12 && !wordy(s) && strings.Contains(out, s[:len(s)-2]) {
			return s
		}
	}
	return ""
}

func TestCorpusKeepsKeysInOrder(t *testing.T) {
	form := regexp.MustCompile(`(?m)^[ \t]*(?:export |- |# ?|; ?)*([A-Za-z_][A-Za-z0-9_ ]*?|"[^"]*"|//[^=\s]*)[ \t]*(?:=|: |:$)`)
	keys := func(s string) (all []string) {
		for _, f := range form.FindAllStringSubmatch(s, -1) {
			all = append(all, f[1])
		}
		return all
	}
	for _, s := range corpus {
		data, _ := s.clean()
		out, _ := mustPhantom(t, s.rel, data)
		if strings.HasSuffix(s.rel, ".json") || strings.HasSuffix(s.rel, ".tfstate") {
			checkJSON(t, s.rel, data, out)
			continue
		}
		if want, got := keys(data), keys(out); !slices.Equal(want, got) {
			t.Errorf("%s: keys %q, want %q", s.rel, got, want)
		}
	}
}

// checkJSON: the same tokens but for strings that are values and numbers.
func checkJSON(t *testing.T, rel, data, out string) {
	t.Helper()
	a, b := json.NewDecoder(strings.NewReader(data)), json.NewDecoder(strings.NewReader(out))
	for {
		x, errX := a.Token()
		y, errY := b.Token()
		if (errX == nil) != (errY == nil) {
			t.Fatalf("%s: %v, %v in %s", rel, errX, errY, out)
		}
		if errX != nil {
			return
		}
		switch x := x.(type) {
		case string:
			if _, ok := y.(string); !ok {
				t.Fatalf("%s: %v became %v", rel, x, y)
			}
		case float64:
			if _, ok := y.(float64); !ok {
				t.Fatalf("%s: %v became %v", rel, x, y)
			}
		default:
			if x != y {
				t.Fatalf("%s: %v became %v", rel, x, y)
			}
		}
	}
}

// source has bash read a file of variables, and tells them.
func source(t *testing.T, text string) map[string]string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("this test needs bash")
	}
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "-c", `set -ae; . "$1"; exec env -0`, "bash", file)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("bash: %v, %s in\n%s", err, &stderr, text)
	}
	all := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, v, _ := strings.Cut(pair, "=")
		if !slices.Contains([]string{"PATH", "PWD", "SHLVL", "_", "OLDPWD"}, name) {
			all[name] = v
		}
	}
	return all
}

func TestDotenvInBash(t *testing.T) {
	data := strings.NewReplacer("MSSQL=Server", "MSSQL='Server", "Encrypt=true", "Encrypt=true'").Replace(first2(corpus[0].clean()))
	data = strings.Replace(data, `FIREBASE={"apiKey":`, `FIREBASE='{"apiKey":`, 1)
	data = strings.Replace(data, `"retries":3}`, `"retries":3}'`, 1)
	data += "\nPRIVATE_KEY=\"" + realKeys()["ec"] + "\"\nESCAPED_KEY=\"" + strings.ReplaceAll(realKeys()["ed-pkcs8"], "\n", `\n`) + "\"\n"
	out, _ := mustPhantom(t, ".env", data)
	want, got := source(t, data), source(t, out)
	for name, was := range want {
		now, there := got[name]
		if !there {
			t.Errorf("%s is gone from\n%s", name, out)
		}
		stays := slices.Contains([]string{"NODE_ENV", "PORT", "DEBUG", "LOG_LEVEL", "AWS_REGION", "SESSION_DRIVER", "TOKEN_TTL", "EMPTY", "TLS_KEY_PATH", "APP_NAME"}, name)
		if stays && was != now || !stays && was == now {
			t.Errorf("%s: %q became %q", name, was, now)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d variables became %d", len(want), len(got))
	}
	if !json.Valid([]byte(got["FIREBASE"])) {
		t.Errorf("%q", got["FIREBASE"])
	}
	parsePEM(t, got["PRIVATE_KEY"])
	parsePEM(t, strings.ReplaceAll(got["ESCAPED_KEY"], `\n`, "\n"))
}

func first2(s string, _ []string) string { return s }

func TestNoneAndEmpty(t *testing.T) {
	keys := realKeys()
	elf := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x03\x00" + strings.Repeat("\x00", 40)
	for _, c := range []struct {
		rel, data string
		kind      Kind
	}{
		{"ca.pem", keys["cert"], None}, {"ca.pem", "Shop Root\n=========\n" + keys["cert"] + keys["cert"], None}, {"x.key", keys["public"], None},
		{"ca.pem", "ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX\n" + keys["cert"], Values},
		{"ca.pem", keys["cert"] + keys["ec"], Key}, {"x.pem", "no key at all", Empty}, {"x.pem", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n", Empty},
		{".npmrc", "registry=https://npm.shop.test/\nfund=false\nscript-shell=/bin/oddShell99\n", None},
		{".npmrc", "//npm.shop.test/:_authToken=${NPM_TOKEN}\n", None}, {".npmrc", "//npm.shop.test/:_password=c2VjcmV0\n", Values},
		{".yarnrc.yml", "nodeLinker: node-modules\nyarnPath: .yarn/releases/yarn-4.1.0.cjs\n", None}, {".yarnrc.yml", "npmAuthToken: abcd-1234-efgh\n", Values},
		{"vault.yml", "$ANSIBLE_VAULT;1.1;AES256\n6231623361\n3039\n", None}, {"vault.yml", "$ANSIBLE_VAULT;1.1;AES256\n6231623361\nsecret\n", Empty},
		{"secrets.yaml", "a: ENC[AES256_GCM,data:Zm9v,iv:YmFy,tag:YmF6,type:str]\n", None},
		{"templates/secrets.yaml", "{{- if .Values.on }}\nkind: Secret\ndata:\n  password: {{ .Values.password | b64enc }}\n{{- end }}\n", None},
		{".env", "NODE_ENV=test\nPORT=1\n", None}, {".env", "", None}, {".env", "\n\n", None},
		{"dump.sql", "CREATE TABLE a (id int);\n", None}, {"dump.sql", "INSERT INTO a VALUES (1);\n", Empty},
		{"test_rsa", elf, None}, {"x.dump", elf, Empty}, {"id_rsa", "\x00\x01", Empty},
		{".env", "A=\xff\xfe", Empty}, {".env", "A=b\x00", Empty}, {".env", "A=" + strings.Repeat("b", maxFile), Empty},
		{"a.p12", "text", Empty}, {"a.kdbx", "text", Empty}, {"a.sql.gz", "text", Empty}, {"a.ovpn", "text", Empty}, {"credentials.json", "{\"a\":", Empty},
		{"a.secret", "{ not json", Empty}, {"a.tfstate", "no", Empty},
	} {
		if _, kind := mustPhantom(t, c.rel, c.data); kind != c.kind {
			out, _, _ := Phantom(c.rel, []byte(c.data), seed)
			t.Errorf("%s %.60q: %s, want %s\n%s", c.rel, c.data, kind, c.kind, out)
		}
	}
	if _, _, err := Phantom(".env", []byte("A=b"), nil); err == nil {
		t.Error("no seed is no error")
	}
}

// A phantom tells nothing of a value but its shape, so a guess cannot be checked.
func TestPhantomIsNotMadeOfTheValue(t *testing.T) {
	a, _ := mustPhantom(t, ".env", "DB_PASSWORD=correcthorsebat\n")
	b, _ := mustPhantom(t, "deep/.env.local", "DB_PASSWORD=staplebattery\n")
	if a != b {
		t.Errorf("%q and %q", a, b)
	}
	two, _ := mustPhantom(t, ".netrc", "machine a.test password samesame1\nmachine b.test password samesame1\n")
	f := strings.Fields(two)
	if f[3] == f[7] {
		t.Errorf("equal secrets show as equal: %s", two)
	}
}
