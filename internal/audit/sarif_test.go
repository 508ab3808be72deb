package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// known are the properties that the format's schema has for each object of ours; it
// allows no others. Those with a star must be there.
var known = map[string]string{
	"log":      "$schema version* runs*",
	"run":      "tool* originalUriBaseIds results",
	"tool":     "driver*",
	"driver":   "name* version rules",
	"rule":     "id* shortDescription fullDescription help defaultConfiguration properties",
	"message":  "text*",
	"config":   "level",
	"result":   "ruleId ruleIndex level message* locations partialFingerprints",
	"location": "physicalLocation logicalLocations",
	"physical": "artifactLocation* region",
	"artifact": "uri uriBaseId description",
	"region":   "startLine*",
	"logical":  "name kind",
}

// object checks one and returns it.
func object(t *testing.T, kind string, v any) map[string]any {
	t.Helper()
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("a %s is %T", kind, v)
	}
	for _, name := range strings.Fields(known[kind]) {
		if name, must := strings.CutSuffix(name, "*"); must && m[name] == nil {
			t.Errorf("a %s without %s", kind, name)
		}
	}
	for name := range m {
		if !slices.Contains(strings.Fields(strings.ReplaceAll(known[kind], "*", "")), name) {
			t.Errorf("a %s with %s", kind, name)
		}
	}
	return m
}

func list(t *testing.T, v any) []any {
	t.Helper()
	l, ok := v.([]any)
	if !ok {
		t.Fatalf("%T is no list", v)
	}
	return l
}

// message: braces are doubled, and nothing is a link.
func message(t *testing.T, v any) {
	t.Helper()
	text, _ := object(t, "message", v)["text"].(string)
	rest := strings.NewReplacer("{{", "", "}}", "").Replace(text)
	if text == "" || strings.ContainsAny(rest, "{}") || strings.Contains(rest, "](") {
		t.Errorf("message %q", text)
	}
}

func level(t *testing.T, v any) {
	t.Helper()
	if s, _ := v.(string); !slices.Contains([]string{"none", "note", "warning", "error"}, s) {
		t.Errorf("level %v", v)
	}
}

// artifact: a reference below a base is relative; a base is absolute and ends in /.
func artifact(t *testing.T, v any, base bool) {
	t.Helper()
	m := object(t, "artifact", v)
	uri, has := m["uri"].(string)
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		t.Errorf("uri %q: %v", uri, err)
	case base && has && (!u.IsAbs() || !strings.HasSuffix(uri, "/") || strings.Contains(uri, "..") || u.RawQuery != "" || u.Fragment != ""):
		t.Errorf("base %q", uri)
	case !base && (!has || m["uriBaseId"] == nil || u.IsAbs() || strings.HasPrefix(uri, "/") || strings.HasPrefix(uri, "..")):
		t.Errorf("reference %q below %v", uri, m["uriBaseId"])
	}
}

func TestSARIF(t *testing.T) {
	f := newFixture(t)
	for _, p := range plants {
		p.do(f)
	}
	r := f.audit()
	var b bytes.Buffer
	if err := SARIF(&b, r, f.World, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), f.dir) {
		t.Error("it names directories of this machine")
	}
	var v any
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	log := object(t, "log", v)
	if log["version"] != "2.1.0" {
		t.Errorf("version %v", log["version"])
	}
	run := object(t, "run", list(t, log["runs"])[0])
	bases := run["originalUriBaseIds"].(map[string]any)
	for _, base := range bases {
		artifact(t, base, true)
	}
	rules := sarifRules(t, run)
	results := list(t, run["results"])
	if len(results) != len(r.Findings) {
		t.Errorf("%d results of %d findings", len(results), len(r.Findings))
	}
	prints := map[string]bool{}
	for _, x := range results {
		m := object(t, "result", x)
		if i := int(m["ruleIndex"].(float64)); i < 0 || i >= len(rules) || rules[i] != m["ruleId"] {
			t.Errorf("rule %v is not number %v", m["ruleId"], m["ruleIndex"])
		}
		level(t, m["level"])
		message(t, m["message"])
		sarifLocations(t, m, bases)
		p := fmt.Sprint(m["partialFingerprints"])
		if prints[p] {
			t.Errorf("%v: two results look the same", m["ruleId"])
		}
		prints[p] = true
	}
}

func sarifRules(t *testing.T, run map[string]any) (ids []string) {
	driver := object(t, "driver", object(t, "tool", run["tool"])["driver"])
	for _, x := range list(t, driver["rules"]) {
		m := object(t, "rule", x)
		for _, key := range []string{"shortDescription", "fullDescription", "help"} {
			message(t, m[key])
		}
		level(t, object(t, "config", m["defaultConfiguration"])["level"])
		ids = append(ids, m["id"].(string))
	}
	return ids
}

func sarifLocations(t *testing.T, result, bases map[string]any) {
	for _, x := range list(t, result["locations"]) {
		m := object(t, "location", x)
		if m["physicalLocation"] == nil {
			for _, l := range list(t, m["logicalLocations"]) {
				object(t, "logical", l)
			}
			continue
		}
		p := object(t, "physical", m["physicalLocation"])
		artifact(t, p["artifactLocation"], false)
		if base := p["artifactLocation"].(map[string]any)["uriBaseId"]; bases[base.(string)] == nil {
			t.Errorf("no base is called %v", base)
		}
		if p["region"] != nil && object(t, "region", p["region"])["startLine"].(float64) < 1 {
			t.Errorf("line %v", p["region"])
		}
	}
}
