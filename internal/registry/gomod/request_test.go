package gomod

import (
	"strings"
	"testing"

	"golang.org/x/mod/module"
)

func TestRequests(t *testing.T) {
	for path, want := range map[string]request{
		"example.org/lib/@v/list":                                   {"example.org/lib", "", "list"},
		"example.org/lib/@latest":                                   {"example.org/lib", "", "latest"},
		"example.org/lib/v2/@v/v2.0.1.info":                         {"example.org/lib/v2", "v2.0.1", "info"},
		"github.com/!burnt!sushi/toml/@v/v1.zip":                    {},
		"github.com/!burnt!sushi/toml/@v/v1.2.3.zip":                {"github.com/BurntSushi/toml", "v1.2.3", "zip"},
		"example.org/lib/@v/v2.0.0+incompatible.mod":                {"example.org/lib", "v2.0.0+incompatible", "mod"},
		"example.org/lib/@v/v0.0.0-20170915032832-14c0d48ead0c.zip": {"example.org/lib", "v0.0.0-20170915032832-14c0d48ead0c", "zip"},
		"example.org/lib/@v/master.info":                            {"example.org/lib", "master", "info"},
		"golang.org/toolchain/@v/v0.0.1-go1.24.0.linux-amd64.zip":   {"golang.org/toolchain", "v0.0.1-go1.24.0.linux-amd64", "zip"},
		"": {}, "/": {}, "list": {}, "@v/list": {}, "example.org/lib/@v/": {}, "example.org/lib/@v/.zip": {}, "example.org/lib/@v/v1.0.0": {}, "example.org/lib/@v/v1.0.0.ziphash": {},
		"example.org/lib/@v/master.zip": {}, "example.org/lib/@v/../../x/@v/list": {}, "../etc/@v/list": {}, "example.org/../x/@v/list": {}, "example.org//x/@v/list": {}, "/example.org/x/@v/list": {},
		"example.org/Lib/@v/list": {}, "example.org/lib/@v/v1.0.0/../v2.0.0.zip": {}, "example.org/lib%2f/@v/list": {}, "example.org/lib/@v/v1.0.0.zip?x": {}, "example.org/lib\n/@v/list": {},
		"sumdb/x/@v/list": {}, "example.org/lib/@v/v1.0.0.zip/@v/list": {}, "example.org/" + strings.Repeat("a", 2000) + "/@v/list": {},
	} {
		got, err := parse(path)
		if (err == nil) != (want != request{}) || err == nil && got != want {
			t.Errorf("%q: %+v, %v", path, got, err)
		}
		if err == nil && got.path() != "/"+path {
			t.Errorf("%q goes on as %q", path, got.path())
		}
	}
}

// FuzzParse holds what is asked upstream to what was asked for: one spelling, no way out
// of the module's own place.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"example.org/lib/@v/list", "example.org/lib/@latest", "github.com/!burnt!sushi/toml/@v/v1.2.3.zip", "example.org/lib/@v/../../x/@v/list", "a/@v/@v/list", "example.org/lib/@v/feature!branch.info"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		q, err := parse(path)
		if err != nil {
			return
		}
		if module.CheckPath(q.module) != nil {
			t.Errorf("%q is the module %q", path, q.module)
		}
		if q.path() != "/"+path {
			t.Errorf("%q goes on as %q", path, q.path())
		}
		if strings.Contains(path, "..") && strings.Contains("/"+path+"/", "/../") || strings.ContainsAny(path, "?#%\\\n ") {
			t.Errorf("%q is a question", path)
		}
	})
}

// FuzzAnswers: whatever a proxy says is read within bounds, and a list has only versions.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("v1.0.0\nv1.1.0 2020-01-01T00:00:00Z\n"), "example.org/lib v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Add([]byte(`{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}`), "")
	f.Add([]byte(`{"Version":"v1.0.0","version":"v2.0.0","Time":"x"}`), "x y z")
	f.Fuzz(func(t *testing.T, body []byte, sums string) {
		for _, v := range readList(body) {
			if module.CanonicalVersion(v) != v || strings.ContainsAny(v, "/ \n") {
				t.Errorf("a version %q", v)
			}
		}
		q := request{"example.org/lib", "v1.0.0", "info"}
		if in, err := readInfo(q, body); err == nil && in.Version != q.version {
			t.Errorf("%s is about %s", body, in.Version)
		}
		if d, ok := findSum([]byte(sums), q.as("zip")); ok && len(d.Sum) != 64 {
			t.Errorf("a digest %q", d.Sum)
		}
		parseEnv(body)
		parseList(string(body))
	})
}

func TestLists(t *testing.T) {
	for list, want := range map[string]string{
		"https://a.test,https://b.test|c.test/x/,direct,https://never.test": "https://a.test , https://b.test | https://c.test/x , direct",
		"direct": "direct", "off": "off", "": "", "https://a.test|direct": "https://a.test | direct", " https://a.test , off": "https://a.test , off",
		"file:///srv/x/,direct": "file:///srv/x , direct", "file://host/srv": "error", "file:srv": "error", "https://a.test?x=1": "error", "ftp://a.test": "error", "https://%zz": "error",
	} {
		entries, rest, err := parseList(list)
		var b strings.Builder
		for _, e := range entries {
			b.WriteString(e.URL.String() + map[bool]string{true: " | ", false: " , "}[e.Or])
		}
		got := b.String() + rest
		if rest == "" {
			got = strings.TrimSuffix(strings.TrimSuffix(got, " , "), " | ")
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}
