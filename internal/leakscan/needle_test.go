package leakscan_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/leakscan"
)

// file is what a thief sends: the secret with lines around it.
func file(secret string, before int) []byte {
	return []byte(strings.Repeat("-", before) + "BEGIN\n" + random(7, 70, alphabet) + "\n" + secret + "\n" + random(8, 70, alphabet) + "\nEND\n")
}

// piped is what a program makes of its input.
func piped(t *testing.T, input []byte, argv ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", argv, err)
	}
	return out
}

// writings are ways in which a file leaves, by the form that is to be told.
func writings(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	quoted, err := json.Marshal(string(data))
	if err != nil {
		t.Fatal(err)
	}
	values := make([]string, len(data))
	all, pairs := "", ""
	for i, b := range data {
		values[i] = fmt.Sprint(b)
		all += fmt.Sprintf("%%%02X", b)
		pairs += fmt.Sprintf("%02x", b)
		if i%16 == 15 {
			pairs += fmt.Sprintf("  %q\n%08x: ", data[i-15:i+1], i+1)
		} else if i%2 == 1 {
			pairs += " "
		}
	}
	backwards := slices.Clone(data)
	slices.Reverse(backwards)
	once := piped(t, data, "base64", "-w0")
	return map[string][]byte{
		"plain/as it is":        data,
		"plain/dump":            []byte(hex.Dump(data)),
		"json/quoted":           quoted,
		"percent/form":          []byte("a=b&c=" + url.QueryEscape(string(data))),
		"percent, all of it/":   []byte(all),
		"hex/lower":             []byte(hex.EncodeToString(data)),
		"hex/upper":             []byte(strings.ToUpper(hex.EncodeToString(data))),
		"hex dump/bytes":        piped(t, data, "od", "-An", "-tx1", "-w16"),
		"hex dump/pairs":        []byte(pairs),
		"base64/one line":       once,
		"base64/76 columns":     piped(t, data, "base64"),
		"base64/with CRLF":      bytes.ReplaceAll(piped(t, data, "base64", "-w64"), []byte("\n"), []byte("\r\n")),
		"base64/URL":            []byte(base64.RawURLEncoding.EncodeToString(data)),
		"base64/in JSON":        bytes.ReplaceAll(piped(t, data, "base64"), []byte("\n"), []byte(`\n`)),
		"base64 twice/":         piped(t, once, "base64"),
		"base64 twice/in lines": piped(t, piped(t, data, "base64"), "base64"),
		"base32/":               piped(t, data, "base32"),
		"reversed/":             backwards,
		"rot13/":                piped(t, data, "tr", "A-Za-z", "N-ZA-Mn-za-m"),
		"numbers/":              []byte("[" + strings.Join(values, ",") + "]"),
		"numbers/spaced":        []byte("[" + strings.Join(values, ", ") + "]"),
	}
}

// split hands a stream over in chunks of n and tells what is found.
func split(s *leakscan.Set, stream []byte, n int) (name, form string, found bool) {
	scanner := s.Scanner()
	for chunk := range slices.Chunk(stream, n) {
		if name, form, found := scanner.Scan(chunk); found {
			return name, form, true
		}
	}
	return "", "", false
}

func TestScanFindsAFileHoweverItIsSent(t *testing.T) {
	secrets := six()
	s := set(t, secrets...)
	for _, n := range []leakscan.Named{secrets[0], secrets[1], secrets[3]} {
		for before := range 6 { // each way in which it may lie in base64 and base32
			for what, stream := range writings(t, file(n.Secret, before)) {
				want, _, _ := strings.Cut(what, "/")
				stream = slices.Concat(bytes.Repeat([]byte("POST /\r\n"), 9), stream, bytes.Repeat([]byte("."), 200))
				for _, size := range []int{1, 7, 64, 1 << 16} {
					name, form, found := split(s, stream, size)
					same := form == want || strings.HasPrefix(what, "json") || strings.HasPrefix(what, "percent/") // where nothing is to escape
					if !found || name != n.Name || !same {
						t.Errorf("%s, %d in front, chunks of %d: %s is told as %q, %q, %t", what, before, size, n.Name, name, form, found)
					}
				}
			}
		}
	}
}

func TestScanFindsNoOther(t *testing.T) {
	s := set(t, six()...)
	packed := new(bytes.Buffer)
	z := gzip.NewWriter(packed)
	if _, err := z.Write(file(six()[0].Secret, 0)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	streams := chunks()
	streams["compressed, which is not looked into"] = packed.Bytes()
	streams["fifteen characters"] = []byte("x" + six()[1].Secret[5:20] + "x")
	streams["shape without the rest"] = []byte("AKIA1234567890123456 ghp_123456789012345678901234567890123456")
	streams["nothing"] = nil
	for what, stream := range streams {
		for _, size := range []int{1, 1000, 1 << 16} {
			if name, form, found := split(s, stream, size); found {
				t.Errorf("%s, chunks of %d: %s is told as %s", what, size, name, form)
			}
		}
	}
	if _, _, found := set(t).Find([]byte("anything at all")); found {
		t.Error("an empty set finds something")
	}
}

func TestFindName(t *testing.T) {
	secrets := six()
	s := set(t, secrets...)
	labels := func(text string) string {
		return strings.Join(slices.Collect(func(yield func(string) bool) {
			for part := range slices.Chunk([]byte(text), 20) {
				if !yield(string(part)) {
					return
				}
			}
		}), ".") + ".t.attacker.test"
	}
	for _, n := range secrets {
		b := []byte(n.Secret)
		for form, name := range map[string]string{
			"hex":    labels(hex.EncodeToString(b)),
			"base32": labels("A" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append([]byte("x"), b...))),
			"base64": labels(base64.RawURLEncoding.EncodeToString(b)),
		} {
			for _, spelt := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
				told, as, found := s.FindName(spelt)
				if special := strings.ContainsAny(n.Secret, "+/"); !found || told != n.Name || as != form && !special {
					t.Errorf("%s in %s is told as %q, %q, %t", n.Name, spelt, told, as, found)
				}
			}
		}
	}
	for _, name := range []string{"", ".", "localhost", "static.assets.registry.example.test", strings.Repeat("a.", 126) + "a"} {
		if told, as, found := s.FindName(name); found {
			t.Errorf("%q: %s is told as %s", name, told, as)
		}
	}
}

func TestNewRefusesWhatCannotBeFound(t *testing.T) {
	for _, secret := range []string{"", "seven77", strings.Repeat("x", leakscan.Longest+1)} {
		_, err := leakscan.New(leakscan.Named{Name: "pin", Secret: secret})
		if err == nil || !strings.Contains(err.Error(), `"pin"`) || secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("%d bytes: %v", len(secret), err)
		}
	}
	if _, err := leakscan.New(leakscan.Named{Name: "long", Secret: random(1, leakscan.Longest, alphabet)}, leakscan.Named{Name: "short", Secret: "12345678"}); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	n := six()[0]
	s := set(t, n)
	s.Scanner()
	text := fmt.Sprintf("%v %+v %#v %s %q %x %d %v %+v %#v", n, n, n, n, n, n, n, s, s, s)
	b, err := json.Marshal(map[string]any{"named": n, "set": s})
	if err != nil {
		t.Fatal(err)
	}
	if _, form, found := s.Find([]byte(text + string(b))); found {
		t.Errorf("printed as %s", form)
	}
}
