package broker

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/leakscan"
)

const decoy = "AKIADECOYDECOYDECOY0"

func decoys(t testing.TB) *leakscan.Set {
	set, err := leakscan.New(leakscan.Named{Name: "decoy", Secret: decoy})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// A decoy is found wherever in a request it stands; what could not be searched does not
// go on.
func TestLeavingParts(t *testing.T) {
	const git = "/o/r.git/git-upload-pack"
	for name, c := range map[string]struct {
		method, target, body string
		header               http.Header
		passes               bool
	}{
		"nothing":                   {"POST", "/x", "hello", nil, true},
		"method":                    {decoy, "/x", "", nil, false},
		"path":                      {"GET", "/x/" + decoy, "", nil, false},
		"path, escaped":             {"GET", "/x/%41KIADECOYDECOYDECOY0", "", nil, false},
		"query":                     {"GET", "/x?a=%41KIADECOYDECOYDECOY0", "", nil, false},
		"field":                     {"GET", "/x", "", http.Header{"X-Any": {"a", "b " + decoy}}, false},
		"field in two lines":        {"GET", "/x", "", http.Header{"X-Any": {decoy[:10], decoy[10:]}}, false},
		"name of a field":           {"GET", "/x", "", http.Header{"X-" + decoy: {"a"}}, false},
		"body":                      {"POST", "/x", "a " + decoy, nil, false},
		"body, base64":              {"POST", "/x", base64.StdEncoding.EncodeToString([]byte(decoy)), nil, false},
		"gzip":                      {"POST", "/x", zipped(decoy), http.Header{"Content-Encoding": {"gzip"}}, false},
		"gzip in capitals":          {"POST", "/x", zipped(decoy), http.Header{"Content-Encoding": {"GZip"}}, false},
		"x-gzip":                    {"POST", "/x", zipped(decoy), http.Header{"Content-Encoding": {"x-gzip"}}, false},
		"gzip, harmless":            {"POST", "/x", zipped("hello"), http.Header{"Content-Encoding": {"gzip"}}, true},
		"gzip to git":               {"POST", git, zipped(decoy), http.Header{"Content-Encoding": {"gzip"}}, false},
		"gzip to git, harmless":     {"POST", git, zipped("hello"), http.Header{"Content-Encoding": {"gzip"}}, true},
		"gzip to git, long":         {"POST", git, zipped(strings.Repeat("long", 1<<20) + decoy), http.Header{"Content-Encoding": {"gzip"}}, false},
		"not gzip":                  {"POST", git, "hello", http.Header{"Content-Encoding": {"gzip"}}, false},
		"gzip twice":                {"POST", "/x", zipped(zipped(decoy)), http.Header{"Content-Encoding": {"gzip, gzip"}}, false},
		"gzip in the second line":   {"POST", "/x", zipped(decoy), http.Header{"Content-Encoding": {"", "gzip"}}, false},
		"another coding":            {"POST", "/x", "hello", http.Header{"Content-Encoding": {"br"}}, false},
		"a coding that changes not": {"POST", "/x", "hello", http.Header{"Content-Encoding": {"identity"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			passed := ""
			h := Search(decoys(t), func(_, _, _ string) bool { return true }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if err == nil && r.Header.Get("Content-Encoding") == "" {
					passed = "passed " + string(b)
				}
				if isGit(r.URL.Path) && err == nil && len(b) < 1<<20 && r.ContentLength != int64(len(b)) {
					t.Errorf("the length is said to be %d", r.ContentLength)
				}
			}))
			r := httptest.NewRequest("GET", c.target, strings.NewReader(c.body))
			r.Method = c.method
			for name, values := range c.header {
				r.Header[name] = values
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			if (passed != "") != c.passes || strings.Contains(passed, decoy) {
				t.Errorf("%.100q", passed)
			}
		})
	}
}

// frame is one of a client's.
func frame(first byte, key [4]byte, payload string) string {
	head := []byte{first, 0x80 | byte(len(payload))}
	if len(payload) > 125 {
		head = []byte{first, 0x80 | 126, byte(len(payload) >> 8), byte(len(payload))}
	}
	masked := []byte(payload)
	for i := range masked {
		masked[i] ^= key[i%4]
	}
	return string(head) + string(key[:]) + string(masked)
}

// What a client says on a WebSocket is searched as it is meant, and not as it is sent.
func TestLeavingFrames(t *testing.T) {
	key := [4]byte{1, 2, 3, 0xff}
	for name, c := range map[string]struct {
		said string
		want error
	}{
		"nothing":        {frame(0x81, key, "hello") + frame(0x89, key, "") + frame(0x82, key, strings.Repeat("x", 300)) + frame(0x88, key, "\x03\xe8"), nil},
		"masked":         {frame(0x81, key, "a "+decoy), errDecoy},
		"long":           {frame(0x82, key, strings.Repeat("x", 200)+decoy), errDecoy},
		"in two frames":  {frame(0x01, key, decoy[:7]) + frame(0x80, [4]byte{9}, decoy[7:]), errDecoy},
		"with a ping":    {frame(0x01, key, decoy[:7]) + frame(0x89, key, "ping") + frame(0x80, key, decoy[7:]), errDecoy},
		"in a ping":      {frame(0x89, key, decoy), errDecoy},
		"compressed":     {frame(0xc1, key, "x"), errFrame},
		"without a mask": {"\x81\x05hello", errFrame},
		"no frames":      {"hello", errFrame},
		"too long":       {"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", errFrame},
	} {
		for _, step := range []int{1, 3, len(c.said)} {
			f := frames{scan: decoys(t).Scanner(), control: decoys(t).Scanner(), seen: func(_, _ string) bool { return true }}
			var err error
			for rest := c.said; rest != "" && err == nil; {
				n := min(step, len(rest))
				err = f.take([]byte(rest[:n]))
				rest = rest[n:]
			}
			if err != c.want {
				t.Errorf("%s by %d: %v", name, step, err)
			}
		}
	}
}

// FuzzFrames: no bytes break the reader of frames, however they are cut.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(frame(0x81, [4]byte{1, 2, 3, 4}, decoy)), 3)
	f.Add([]byte("\x82\xff\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00hello"), 1)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		found := [2]bool{}
		for i, step := range []int{max(step, 1), len(data) + 1} {
			r := frames{scan: decoys(t).Scanner(), control: decoys(t).Scanner(), seen: func(_, _ string) bool { return true }}
			for rest := data; len(rest) > 0; {
				n := min(step, len(rest))
				if r.take(rest[:n]) != nil {
					found[i] = true
					break
				}
				rest = rest[n:]
			}
		}
		if found[0] != found[1] {
			t.Errorf("%q is judged by how it is cut", data)
		}
	})
}
