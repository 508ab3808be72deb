package probe

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What is accepted means the same after another trip.
func FuzzDecodeTarget(f *testing.F) {
	good, err := json.Marshal(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(good), string(good) + "{}", "", "{}", "null", `{"canary":1}`, `{"unknown":1}`,
		strings.Replace(string(good), `"proof":"proof"`, `"proof":"../x"`, 1),
		strings.Replace(string(good), `"keeper":`, `"keeper":-`, 1),
		strings.Replace(string(good), `"own":"2f`, `"own":"00`, 1)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		target, err := DecodeTarget(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := json.Marshal(target)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeTarget(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, err := json.Marshal(second)
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("%s became %s (%v)", again, third, err)
		}
	})
}

// Whatever comes out of a sandbox, no terminal obeys it and no probe is invented.
func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{`{"results":[{"name":"env","open":true,"detail":"x"}]}`, `{"results":[{"name":"env"},{"name":"env"}]}`,
		`{"results":[{"name":"","open":false}]}`, `{"results":null}`, `{"error":"\u001b[2J"}`, `{"results":[{"name":"tty","detail":"\u001b]52;c;x\u0007"}]}`, "", "[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		results, err := DecodeAnswer(bytes.NewReader(b), Names())
		if err != nil && results != nil {
			t.Errorf("both %v and %v", results, err)
		}
		for name, r := range results {
			if name != r.Name || strings.ContainsFunc(r.Detail, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 }) {
				t.Errorf("%q: %+v", name, r)
			}
		}
	})
}

// The names of mounts are anybody's; a line that is not understood is an error,
// never a mount less.
func FuzzParseMounts(f *testing.F) {
	f.Add([]byte("22 27 0:21 / /proc rw,nosuid - proc proc rw\n"))
	f.Add([]byte("29 1 0:26 / /a\\040b ro shared:1 master:2 - ext4 /dev/x\\134 rw\n\n"))
	f.Add([]byte("short\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		mounts, err := ParseMounts(b)
		lines := bytes.Count(b, []byte("\n"))
		if len(b) > 0 && b[len(b)-1] != '\n' {
			lines++
		}
		if err == nil && len(mounts) != lines {
			t.Errorf("%d mounts in %d lines", len(mounts), lines)
		}
	})
}

func TestPathKeepsItsBytes(t *testing.T) {
	want := map[string]Place{"home": {Files: []Path{"/a\xff\n\x1b"}}}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]Place
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// What is accepted means the same after another trip.
func FuzzDecodeNetTarget(f *testing.F) {
	good, err := json.Marshal(netSample(f, netip.MustParseAddrPort("127.0.0.1:1")))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(good), string(good) + "{}", "", "{}", `{"unknown":1}`, strings.Replace(string(good), `"port":1`, `"port":65536`, 1)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		target, err := DecodeNetTarget(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := json.Marshal(target)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeNetTarget(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, err := json.Marshal(second)
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("%s became %s (%v)", again, third, err)
		}
	})
}

// Any bytes may stand where a question or an answer is due: each is taken for what it
// is or for nothing, and what we answer can be read.
func FuzzDNS(f *testing.F) {
	q, err := question("acb007101.x.test", typeA)
	if err != nil {
		f.Fatal(err)
	}
	a, _ := answerTo(q)
	for _, seed := range [][]byte{q, a, a[:len(a)-1], append(slices.Clone(a), 0), {}, make([]byte, header), bytes.Repeat([]byte{0xc0}, 40)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, addrs, err := readAnswer(b, q); err != nil && addrs != nil {
			t.Errorf("both %v and %v", addrs, err)
		}
		if a, ok := answerTo(b); ok {
			if _, _, err := readAnswer(a, b); err != nil {
				t.Errorf("%x answered by %x: %v", b, a, err)
			}
		}
	})
}
