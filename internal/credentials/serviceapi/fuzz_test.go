package serviceapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	slashpath "path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/a/b", "/a/", "/a%2Fb", "/a//b", "/..", "/%2e", "/a%20b", "/%C3%A4", "/@s%2fx", "/a;b", "/%25", "/a%2f..%2fb"} {
		f.Add(seed)
	}
	services := forges(f)
	f.Fuzz(func(t *testing.T, raw string) {
		for k, s := range services {
			r := request("POST / {}")
			r.Path = raw
			checkWrite(t, k, s, r)
		}
		p, err := parsePath(raw, true)
		if err != nil {
			return
		}
		decoded, err := url.PathUnescape(raw)
		if err != nil {
			t.Fatalf("%q: net/url cannot read it: %v", raw, err)
		}
		whole := "/" + strings.Join(texts(p.segs), "/")
		if p.dir {
			whole += "/"
		}
		if whole != decoded {
			t.Fatalf("%q: segments make %q, not %q", raw, whole, decoded)
		}
		if slashpath.Clean(decoded) != "/"+strings.Trim(decoded, "/") || strings.ContainsAny(decoded, "\\;%\x00\r\n") {
			t.Fatalf("%q is not in the one spelling", raw)
		}
		if _, err := parsePath(raw, false); err == nil && strings.Contains(strings.ToLower(raw), "%2f") {
			t.Fatalf("%q: an encoded slash was taken", raw)
		}
	})
}

func texts(segs []segment) []string {
	var out []string
	for _, s := range segs {
		out = append(out, s.text)
	}
	return out
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"a":2}`, `{"a":[1,{"b":null}]}`, `{"a":"\ud800"}`, `[]`, `{"a":1}{}`, `{"event":"APPROVE"}`, `{"Event":"x","event":"COMMENT"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := readObject(data)
		if err != nil {
			return
		}
		var other map[string]any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&other); err != nil {
			t.Fatalf("%q: encoding/json cannot read it: %v", data, err)
		}
		if len(other) != len(o) || fmt.Sprint(other) != fmt.Sprint(map[string]any(o)) {
			t.Fatalf("%q: read as %v and %v", data, o, other)
		}
		if noApproval(o) == "" && strings.EqualFold(fmt.Sprint(o["event"]), "approve") {
			t.Fatalf("%q approves", data)
		}
	})
}

func FuzzCredential(f *testing.F) {
	for _, p := range places {
		f.Add(cmp.Or(p.header, "Authorization"), p.value, p.query)
	}
	f.Add("x_api_key", phantom, "a=b&&=&token")
	services := []*Service{newService(f, Config{Kind: Header, Field: "X-Our-Key"}), newService(f, Config{Kind: GitHub, Host: "api.github.com"})}
	f.Fuzz(func(t *testing.T, header, value, query string) {
		for _, s := range services {
			r := &http.Request{Method: "GET", Header: http.Header{}, URL: &url.URL{Scheme: "https", Host: "host.test", Path: "/x", RawQuery: query}}
			r.Header.Set(header, value)
			if _, _, err := s.Presented(r); err != nil && strings.Contains(err.Error(), value) && len(value) > 15 {
				t.Fatalf("the error tells the credential: %v", err)
			}
			s.Strip(r)
			if got, where, _ := s.Presented(r); got != "" {
				t.Fatalf("%q is left in %s", got, where)
			}
			s.Put(r, "", "REAL")
			if got, _, err := s.Presented(r); err == nil && got != "REAL" {
				t.Fatalf("%q goes out", got)
			}
		}
	})
}

func FuzzGraphQL(f *testing.F) {
	for _, seed := range []string{
		aboutUs, `{viewer{login}}`, `mutation M($input:X!){addComment(input:$input){clientMutationId}}`,
		`mutation{addComment(input:{subjectId:"R_us",body:"x"}){clientMutationId}}`, `query A($a:[Int!]!=[1,-2.5e3]){a@b(c:$a)...f ...on X{y}}fragment f on Y{z}`,
		`{a(b:"""x \""" y""",c:"\u00e4\n",d:{e:[null,TRUE]})}`, "# c\r\n{a,b}", `subscription{a}`, `{viewer{gists{id}}}`,
	} {
		f.Add(seed)
	}
	rules := hub(f)
	f.Fuzz(func(t *testing.T, query string) {
		doc, err := parseDocument(query)
		s := &Service{config: rules.config, graphql: rules.graphql, known: map[string]bool{}}
		d := s.Judge(ask(query, map[string]any{"o": "o", "n": "r"}))
		if err != nil {
			if d.Allow {
				t.Fatalf("allowed, and cannot be read: %v", err)
			}
			return
		}
		if d.Allow && doc.kind != "query" {
			t.Fatalf("a mutation is allowed though nothing is known: %q", query)
		}
		if d.Allow && strings.Contains(print(doc), " gists") {
			t.Fatalf("gists are read: %q", query)
		}
		again, err := parseDocument(print(doc))
		if err != nil || !reflect.DeepEqual(doc, again) {
			t.Fatalf("%q\nprinted %q\nreads differently: %v", query, print(doc), err)
		}
		if d.Learn != nil {
			d.Learn([]byte(answerAboutUs))
			for _, id := range []string{"R_parent", "U_o", "R_head"} {
				if s.known[id] {
					t.Fatalf("%s was learned from %q", id, query)
				}
			}
		}
	})
}

// print spells a document again: fields preceded by a space, nothing else.
func print(d *document) string {
	out := d.kind + " " + d.name
	if len(d.defaults) > 0 {
		out += "("
		for _, k := range sorted(d.defaults) {
			out += "$" + k + ":T=" + printValue(d.defaults[k])
		}
		out += ")"
	}
	out += printSelections(d.sels)
	for _, k := range sorted(d.fragments) {
		out += "fragment " + k + " on " + d.fragments[k].on + printSelections(d.fragments[k].sels)
	}
	return out
}

func printSelections(sels []selection) string {
	if len(sels) == 0 {
		return ""
	}
	out := "{"
	for _, s := range sels {
		switch {
		case s.field != "":
			if s.key != s.field {
				out += " " + s.key + ":"
			}
			out += " " + s.field
			if s.args != nil {
				out += "(" + printPairs(s.args) + ")"
			}
		case s.spread != "":
			out += "..." + s.spread
		case s.on != "":
			out += "...on " + s.on
		default:
			out += "..."
		}
		if s.directives {
			out += "@x"
		}
		out += printSelections(s.sels)
	}
	return out + "}"
}

func printPairs(o object) string {
	out := ""
	for _, k := range sorted(o) {
		out += " " + k + ":" + printValue(o[k])
	}
	return out
}

func printValue(v any) string {
	switch v := v.(type) {
	case variable:
		return "$" + string(v)
	case word:
		return string(v)
	case number:
		return string(v)
	case string:
		out := `"`
		for _, r := range v {
			if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
				out += `\u` + ("0000" + strconv.FormatInt(int64(r), 16))[len(strconv.FormatInt(int64(r), 16)):]
			} else {
				out += string(r)
			}
		}
		return out + `"`
	case object:
		return "{" + printPairs(v) + "}"
	case []any:
		out := "["
		for _, e := range v {
			out += " " + printValue(e)
		}
		return out + "]"
	}
	return "?"
}

func sorted[T any](m map[string]T) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
