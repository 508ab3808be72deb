package pypi

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"ringfence.dev/ringfence/internal/registry/store"
)

// maxTag bounds one element of a page.
const maxTag = 64 << 10

// readHTML reads PEP 503: every link with a text is a file. It never says when one was
// uploaded.
func readHTML(at *url.URL, body []byte) (*page, error) {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(maxTag)
	p := &page{}
	based := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) || len(p.files) > maxFiles {
				return nil, errIndex
			}
			return p, nil
		case html.StartTagToken, html.SelfClosingTagToken:
			tag, _ := z.TagName()
			switch string(tag) {
			case "base":
				u, err := at.Parse(attributes(z)["href"])
				if err != nil || based {
					return nil, errIndex
				}
				at, based = u, true
			case "a":
				p.link(at, attributes(z))
			}
		}
	}
}

// attributes are those of a tag, each as it was said first.
func attributes(z *html.Tokenizer) map[string]string {
	out := map[string]string{}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if _, had := out[string(key)]; !had && len(key) > 0 {
			out[string(key)] = string(value)
		}
	}
	return out
}

// link takes a file in. Its name is the last part of its address, as pip has it.
func (p *page) link(at *url.URL, a map[string]string) {
	u, err := at.Parse(strings.TrimSpace(a["href"]))
	if err != nil || !isFile(fileOf(u)) {
		return
	}
	e := entry{name: fileOf(u), python: a["data-requires-python"], size: -1, want: fragment(u.Fragment)}
	e.why, e.yanked = a["data-yanked"], has(a, "data-yanked")
	for _, key := range []string{"data-core-metadata", "data-dist-info-metadata"} {
		if e.meta.Sum == "" {
			e.meta = fragment(a[key])
		}
	}
	p.add(at, u.String(), e)
}

func has(a map[string]string, key string) bool {
	_, ok := a[key]
	return ok
}

// fragment reads "sha256=...".
func fragment(text string) store.Digest {
	kind, sum, _ := strings.Cut(text, "=")
	return strongest(map[string]string{kind: sum})
}
