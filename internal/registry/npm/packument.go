package npm

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
	"ringfence.dev/ringfence/internal/strictjson"
)

// packument is what a registry says of a package. Fields that are not judged stay as
// they are.
type packument struct {
	rest     map[string]json.RawMessage
	tags     map[string]string
	versions map[string]json.RawMessage
	times    map[string]string // nil: the registry did not tell
	modified string
}

var errPackument = &upstream.Failure{Why: "what the registry tells of the package cannot be read"}

// readPackument reads it. One about another package is a lie.
func readPackument(name string, body []byte) (*packument, error) {
	p := &packument{}
	if strictjson.Walk(body, nil) != nil || json.Unmarshal(body, &p.rest) != nil {
		return nil, errPackument
	}
	own := ""
	for key, to := range map[string]any{"name": &own, "dist-tags": &p.tags, "versions": &p.versions, "modified": &p.modified} {
		if raw, ok := p.rest[key]; ok && json.Unmarshal(raw, to) != nil {
			return nil, errPackument
		}
	}
	if raw, ok := p.rest["time"]; ok {
		var times map[string]any // one entry may be an object, of a package that was taken back
		if json.Unmarshal(raw, &times) != nil {
			return nil, errPackument
		}
		p.times = map[string]string{}
		for v, at := range times {
			if s, ok := at.(string); ok {
				p.times[v] = s
			}
		}
	}
	if own != name || p.versions == nil || len(p.versions) > 1<<16 { // what has no versions is something else of that host's
		return nil, errPackument
	}
	return p, nil
}

// out is when a version was published; zero: nobody says.
func (p *packument) out(version string) time.Time {
	t, err := time.Parse(time.RFC3339, p.times[version])
	if err != nil {
		return time.Time{}
	}
	return t
}

// untouched holds for a package of which nothing is younger than the rules want: then
// nobody has to know when each version came.
func (p *packument) untouched(r brake.Rules) bool {
	t, err := time.Parse(time.RFC3339, p.modified)
	return err == nil && r.Now().Sub(t) >= r.Age
}

// dist is where a version is found and what it must be.
type dist struct {
	Tarball   string `json:"tarball"`
	Integrity string `json:"integrity"`
	Shasum    string `json:"shasum"`
}

func (p *packument) dist(version string) (dist, bool) {
	var m map[string]json.RawMessage
	var fields map[string]json.RawMessage
	if json.Unmarshal(p.versions[version], &m) != nil || json.Unmarshal(m["dist"], &fields) != nil {
		return dist{}, false
	}
	var d dist
	for key, to := range map[string]*string{"tarball": &d.Tarball, "integrity": &d.Integrity, "shasum": &d.Shasum} {
		if raw, ok := fields[key]; ok && json.Unmarshal(raw, to) != nil {
			return dist{}, false
		}
	}
	return d, d.Tarball != ""
}

// digest is what the registry says that the file is.
func (d dist) digest() (store.Digest, error) {
	if d.Integrity != "" {
		return store.Integrity(d.Integrity)
	}
	return store.Hex(store.SHA1, d.Shasum)
}

// hold takes versions out. npm shows the reason where one of them is asked for; others
// do not find them.
func (p *packument) hold(held []string, why string) {
	kept := map[string]json.RawMessage{}
	for _, v := range held {
		kept[v] = p.versions[v]
		delete(p.versions, v)
		delete(p.times, v)
	}
	for tag, v := range p.tags {
		if p.versions[v] != nil || kept[v] == nil {
			continue
		}
		if best := p.best(); tag == "latest" && best != "" {
			p.tags[tag] = best
		} else {
			delete(p.tags, tag)
		}
	}
	p.put("versions", p.versions)
	p.put("dist-tags", p.tags)
	if p.times != nil && p.rest["time"] != nil {
		p.put("time", p.times)
	}
	p.put("policyRestrictions", map[string]any{"message": why, "versions": kept})
}

// best is the highest version that is left, a finished one if there is any.
func (p *packument) best() string {
	var all []string
	for v := range p.versions {
		if semver.IsValid("v" + v) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if pa, pb := semver.Prerelease("v"+a) != "", semver.Prerelease("v"+b) != ""; pa != pb {
			if pa {
				return -1
			}
			return 1
		}
		return semver.Compare("v"+a, "v"+b)
	})
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func (p *packument) put(key string, v any) {
	if raw, err := json.Marshal(v); err == nil {
		p.rest[key] = raw
	}
}

// lead has files fetched from the door, where clients do not ask the registry by name.
func (p *packument) lead(base *url.URL, door string) {
	for v, raw := range p.versions {
		d, ok := p.dist(v)
		rest, own := strings.CutPrefix(d.Tarball, base.String()+"/")
		if !ok || !own {
			continue
		}
		var m, fields map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil || json.Unmarshal(m["dist"], &fields) != nil {
			continue
		}
		fields["tarball"], _ = json.Marshal(door + "/" + rest)
		m["dist"], _ = json.Marshal(fields)
		p.versions[v], _ = json.Marshal(m)
	}
	p.put("versions", p.versions)
}
