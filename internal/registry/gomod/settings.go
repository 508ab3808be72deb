package gomod

import (
	"bytes"
	"cmp"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Settings are what the host's go command uses.
type Settings struct {
	Proxies []Entry
	Rest    string // what follows them: "", "direct" or "off"
	NoProxy string
	NoSum   string
	Private string
	SumDB   string
	Flags   []string // of GOFLAGS, those that run nothing
	Cache   string
	Named   bool // the user named the proxies; they are not those that Go comes with
}

// Entry is one proxy of GOPROXY.
type Entry struct {
	URL *url.URL // may have a login
	Or  bool     // the next is asked whatever goes wrong
}

// Host is where settings are found.
type Host struct {
	Getenv     func(string) string
	Home       string
	ConfigHome string
	Goroot     string                 // of the go command; "": there is none
	Unsafe     func(path string) bool // the agent can write it: it is not read
}

const maxSettings = 256 << 10

// Read finds what the host's go command would use: the environment, then what go env -w
// wrote, then what Go comes with.
func Read(h Host, builtin string) (Settings, error) {
	conf := h.Getenv("GOENV")
	if conf == "" {
		conf = filepath.Join(h.ConfigHome, "go/env")
	}
	var user, root map[string]string
	if conf != "off" && filepath.IsAbs(conf) && !h.Unsafe(conf) {
		user = readEnv(conf)
	}
	if h.Goroot != "" && !h.Unsafe(h.Goroot) {
		root = readEnv(filepath.Join(h.Goroot, "go.env"))
	}
	find := func(name string) string { return cmp.Or(h.Getenv(name), user[name]) }
	s := Settings{Private: find("GOPRIVATE"), NoProxy: find("GONOPROXY"), NoSum: find("GONOSUMDB"), SumDB: find("GOSUMDB"), Cache: find("GOMODCACHE")}
	s.Named = h.Getenv("GOPROXY") != "" || user["GOPROXY"] != ""
	if s.Cache == "" {
		path := find("GOPATH")
		if path == "" {
			path = filepath.Join(h.Home, "go")
		}
		s.Cache = filepath.Join(filepath.SplitList(path)[0], "pkg/mod")
	}
	// What a session can write says nothing of a module to another project.
	if !filepath.IsAbs(s.Cache) || h.Unsafe(s.Cache) {
		s.Cache = ""
	}
	s.Flags = harmless(find("GOFLAGS"))
	var err error
	s.Proxies, s.Rest, err = parseList(cmp.Or(find("GOPROXY"), root["GOPROXY"], builtin))
	return s, err
}

// readEnv reads a file of NAME=VALUE lines, as the go command does.
func readEnv(path string) map[string]string {
	data, err := file.Read(path, maxSettings, 0)
	if err != nil {
		return nil
	}
	return parseEnv(data)
}

func parseEnv(data []byte) map[string]string {
	out := map[string]string{}
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		name, value, ok := strings.Cut(text, "=")
		if ok && name != "" && name[0] >= 'A' && name[0] <= 'Z' {
			out[name] = value
		}
	}
	return out
}

var errProxy = errors.New("GOPROXY of the host names what is no http://, https:// or file:/// URL")

// parseList reads GOPROXY as far as proxies go: direct and off end the list.
func parseList(list string) (out []Entry, rest string, err error) {
	for list != "" {
		word, or := list, false
		if i := strings.IndexAny(list, ",|"); i >= 0 {
			word, or, list = list[:i], list[i] == '|', list[i+1:]
		} else {
			list = ""
		}
		word = strings.TrimSpace(word)
		switch word {
		case "":
			continue
		case "direct", "off":
			return out, word, nil
		}
		if !strings.Contains(word, "://") {
			word = "https://" + word
		}
		u, err := url.Parse(word)
		directory := err == nil && u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/")
		if err != nil || !directory && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "") || u.RawQuery != "" || u.Fragment != "" {
			return nil, "", errProxy // never with the text: it may hold a password
		}
		u.Path = strings.TrimSuffix(u.Path, "/")
		out = append(out, Entry{u, or})
	}
	return out, "", nil
}

// harmless keeps the flags that choose no program and no file.
func harmless(flags string) (out []string) {
	for f := range strings.FieldsSeq(flags) {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		if slices.Contains([]string{"mod", "modcacherw", "trimpath", "buildvcs", "tags", "v", "x", "p", "race", "count", "short", "buildmode", "cover"}, name) {
			out = append(out, f)
		}
	}
	return out
}

// Inside is what the go command inside is told, with the door in the place of the
// proxies. Failures of a proxy are the door's to judge: what is behind the door is asked
// only for what no proxy has, and never for what was held back.
func (s Settings) Inside(door string) map[string]string {
	out := map[string]string{}
	proxy := s.Rest
	if len(s.Proxies) > 0 {
		proxy = door
		if s.Rest != "" {
			proxy += "," + s.Rest
		}
	}
	sums := s.SumDB
	if f := strings.Fields(sums); len(f) == 2 && len(s.Proxies) > 0 { // one in a place of its own is not asked by way of a proxy
		if name, _, _, ok := s.Database(); ok {
			sums = f[0] + " " + door + "/sumdb/" + name
		}
	}
	for name, value := range map[string]string{"GOPROXY": proxy, "GOPRIVATE": s.Private, "GONOPROXY": s.NoProxy, "GONOSUMDB": s.NoSum, "GOSUMDB": sums, "GOFLAGS": strings.Join(s.Flags, " ")} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// Unproxied and unsummed are the patterns that count: GOPRIVATE stands for both.
func (s Settings) Unproxied() string { return orElse(s.NoProxy, s.Private) }

// Unsummed are the patterns of modules that the sum database is not asked about.
func (s Settings) Unsummed() string { return orElse(s.NoSum, s.Private) }

func orElse(v, other string) string {
	switch v {
	case "":
		return other
	case "none":
		return ""
	}
	return v
}

// Database reads GOSUMDB: its name, its verifier's key, and where it is. The key of the
// one that Go comes with is known by its name.
func (s Settings) Database() (name, key string, at *url.URL, ok bool) {
	f := strings.Fields(s.SumDB)
	switch {
	case len(f) == 0:
		f = []string{"sum.golang.org"}
	case f[0] == "off" || len(f) > 2:
		return "", "", nil, false
	}
	key = f[0]
	if key == "sum.golang.org" || key == "sum.golang.google.cn" {
		key = goSumKey
	}
	name, _, ok = strings.Cut(key, "+")
	if !ok || name == "" {
		return "", "", nil, false
	}
	where := "https://" + f[0]
	if len(f) == 2 {
		where = f[1]
	} else if strings.Contains(f[0], "+") {
		where = "https://" + name
	}
	u, err := url.Parse(where)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "", "", nil, false
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return name, key, u, true
}

// goSumKey is the public key of Go's own sum database, as every go command has it.
const goSumKey = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
