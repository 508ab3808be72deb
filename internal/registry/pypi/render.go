package pypi

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/registry/store"
)

// asJSON writes an index as PEP 691 has it. The older name of the key for metadata is left
// out, as PEP 714 wants: pip 22.3 to 23.0 fail at it.
func (p *page) asJSON(name string) ([]byte, error) {
	j := jsonPage{Name: name, Versions: p.versions, Files: []jsonFile{}}
	version := "1.1"
	if p.versions == nil {
		version = "1.0"
	}
	for _, e := range p.files {
		f := jsonFile{Filename: e.name, URL: e.at.String(), Hashes: hashes(e.want), Python: e.python}
		if e.size >= 0 {
			f.Size = &e.size
		} else {
			version = "1.0" // which does not promise sizes
		}
		if !e.out.IsZero() {
			f.Out = e.out.UTC().Format(time.RFC3339Nano)
		}
		if e.yanked {
			f.Yanked, _ = json.Marshal(true)
			if e.why != "" {
				f.Yanked, _ = json.Marshal(e.why)
			}
		}
		if e.meta.Sum != "" {
			f.Meta, _ = json.Marshal(hashes(e.meta))
		}
		j.Files = append(j.Files, f)
	}
	j.Meta = map[string]any{"api-version": version}
	return json.Marshal(j)
}

func hashes(d store.Digest) map[string]string {
	if d.Sum == "" {
		return map[string]string{}
	}
	return map[string]string{string(d.Kind): d.Sum}
}

// asHTML writes it as PEP 503 has it, for clients that know nothing else.
func (p *page) asHTML(name string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html><head><meta name=\"pypi:repository-version\" content=\"1.0\"><title>%s</title></head><body>\n", html.EscapeString(name))
	for _, e := range p.files {
		u := *e.at
		if e.want.Sum != "" {
			u.Fragment = string(e.want.Kind) + "=" + e.want.Sum
		}
		fmt.Fprintf(&b, "<a href=\"%s\"", html.EscapeString(u.String()))
		attribute(&b, "data-requires-python", e.python, e.python != "")
		attribute(&b, "data-yanked", e.why, e.yanked)
		attribute(&b, "data-core-metadata", string(e.meta.Kind)+"="+e.meta.Sum, e.meta.Sum != "")
		fmt.Fprintf(&b, ">%s</a><br>\n", html.EscapeString(e.name))
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

func attribute(b *strings.Builder, key, value string, there bool) {
	if there {
		fmt.Fprintf(b, " %s=\"%s\"", key, html.EscapeString(value))
	}
}
