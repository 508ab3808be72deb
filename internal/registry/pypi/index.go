package pypi

import (
	"encoding/json"
	"mime"
	"net/url"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
	"ringfence.dev/ringfence/internal/strictjson"
)

// page is what an index says of a project. What is not judged is not passed on.
type page struct {
	versions []string
	files    []entry
}

// entry is one file.
type entry struct {
	name   string
	at     *url.URL // absolute
	want   store.Digest
	meta   store.Digest // of its metadata; none: there is none that can be proved
	python string       // which versions of Python it is for
	size   int64        // -1: nobody says
	out    time.Time    // zero: nobody says
	yanked bool
	why    string // it was
}

// The two forms of an index.
const (
	kindJSON = "application/vnd.pypi.simple.v1+json"
	kindHTML = "application/vnd.pypi.simple.v1+html"
)

const maxFiles = 1 << 17

var errIndex = &upstream.Failure{Why: "what the index tells of the project cannot be read"}

// readPage reads an index in the form that it came in. at is where it came from.
func readPage(name string, at *url.URL, kind string, body []byte) (*page, error) {
	if t, _, err := mime.ParseMediaType(kind); err == nil && (t == kindHTML || t == "text/html") {
		return readHTML(at, body)
	}
	return readJSON(name, at, body)
}

type jsonPage struct {
	Meta     map[string]any `json:"meta"`
	Name     string         `json:"name"`
	Versions []string       `json:"versions,omitempty"`
	Files    []jsonFile     `json:"files"`
}

type jsonFile struct {
	Filename string            `json:"filename"`
	URL      string            `json:"url"`
	Hashes   map[string]string `json:"hashes"`
	Python   string            `json:"requires-python,omitempty"`
	Size     *int64            `json:"size,omitempty"`
	Out      string            `json:"upload-time,omitempty"`
	Yanked   json.RawMessage   `json:"yanked,omitempty"`
	Meta     json.RawMessage   `json:"core-metadata,omitempty"`
	OldMeta  json.RawMessage   `json:"dist-info-metadata,omitempty"`
}

// readJSON reads PEP 691. One about another project is a lie.
func readJSON(name string, at *url.URL, body []byte) (*page, error) {
	var j jsonPage
	if strictjson.Walk(body, nil) != nil || json.Unmarshal(body, &j) != nil || policy.NormalProject(j.Name) != name || j.Files == nil || len(j.Files) > maxFiles {
		return nil, errIndex
	}
	p := &page{versions: j.Versions}
	for _, f := range j.Files {
		e := entry{name: f.Filename, python: f.Python, size: -1, want: strongest(f.Hashes), meta: strongest(hashesOf(f.Meta, f.OldMeta))}
		if f.Size != nil && *f.Size >= 0 {
			e.size = *f.Size
		}
		if t, err := time.Parse(time.RFC3339, f.Out); err == nil {
			e.out = t
		}
		if json.Unmarshal(f.Yanked, &e.why) == nil {
			e.yanked = e.why != ""
		} else if json.Unmarshal(f.Yanked, &e.yanked) != nil && len(f.Yanked) > 0 {
			return nil, errIndex
		}
		p.add(at, f.URL, e)
	}
	return p, nil
}

// add takes a file in. What has no name or no address cannot be installed by anybody.
func (p *page) add(from *url.URL, at string, e entry) {
	u, err := from.Parse(at)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" || !validFile(e.name) || strings.ContainsAny(e.python, "\r\n") {
		return
	}
	u.Fragment, u.RawFragment = "", ""
	e.at = u
	p.files = append(p.files, e)
}

// hashesOf reads the digests of a file's metadata: the newer key before the older one.
func hashesOf(raws ...json.RawMessage) map[string]string {
	for _, raw := range raws {
		var m map[string]string
		if len(raw) > 0 && json.Unmarshal(raw, &m) == nil {
			return m
		}
	}
	return nil
}

// strongest is the digest by which a file is proved; none: there is none.
func strongest(hashes map[string]string) store.Digest {
	for _, k := range []store.Kind{store.SHA256, store.SHA512, store.SHA384} {
		if d, err := store.Hex(k, hashes[string(k)]); err == nil {
			return d
		}
	}
	return store.Digest{}
}

// find is the file that lies at an address, or that has a name.
func (p *page) find(is func(entry) bool) (entry, bool) {
	for _, e := range p.files {
		if is(e) {
			return e, true
		}
	}
	return entry{}, false
}
