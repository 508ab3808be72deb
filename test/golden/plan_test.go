package golden

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// textDir holds the longer files of plans; many plans have the same ones.
const textDir = "testdata/launch/text"

// inline is how many lines of a file are written into the plan itself.
const inline = 8

// texts are the longer files that plans of this run had, by their name in textDir.
var texts = map[string]string{}

// An object is one of JSON. Output is read without the program's own types, so that
// a key which nobody expects is seen.
type object = map[string]any

// planText writes a plan one operation a line. The variables, which it has without
// their values, are apart.
func planText(t *testing.T, r role, data string) (lines string, variables []string) {
	t.Helper()
	var p object
	if err := json.Unmarshal([]byte(data), &p); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	n := facts{r, text(p["session"])}
	process, _ := p["process"].(object)
	names, _ := process["env"].([]any)
	for _, name := range names {
		variables = append(variables, text(name))
	}
	delete(process, "env")
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		switch key {
		case "ops":
			continue
		case "uid", "gid":
			if want := map[string]int{"uid": r.uid, "gid": r.gid}[key]; p[key] != float64(want) {
				t.Errorf("%s is %v, not %d", key, p[key], want)
			}
		case "seccomp", "watch", "heard", "filter":
			fmt.Fprintf(&b, "%s %s\n", key, machineCode(text(p[key])))
		default:
			n.section(&b, key, p[key])
		}
	}
	var system, files []string
	for _, op := range p["ops"].([]any) {
		switch op := op.(object); {
		case op["why"] == "system":
			system = append(system, systemLine(op))
		case op["do"] == "file":
			files = append(files, n.operation(op))
		default:
			b.WriteString(n.operation(op))
		}
	}
	checkSystem(t, system)
	slices.SortStableFunc(files, byPath) // they do not depend on each other
	return b.String() + strings.Join(files, ""), variables
}

func byPath(a, b string) int {
	return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1])
}

// section writes one key of the plan, a list with one line each.
func (n facts) section(b *strings.Builder, key string, v any) {
	switch v := v.(type) {
	case object:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.section(b, key+"."+k, v[k])
		}
	case []any:
		for i, e := range v {
			if _, ok := e.(object); ok || key == "process.argv" {
				n.section(b, fmt.Sprintf("%s.%d", key, i), e)
			} else {
				fmt.Fprintf(b, "%s %s\n", key, n.value(key, e))
			}
		}
	default:
		if key == "capture.rules" { // messages for the kernel
			v = machineCode(text(v))
		}
		fmt.Fprintf(b, "%s %s\n", key, n.value(key, v))
	}
}

// operation writes one operation: what, where, from where, what else is said of it.
func (n facts) operation(op object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", op["do"], n.replace(text(op["dst"])))
	if src, ok := op["src"]; ok && src != op["dst"] {
		fmt.Fprintf(&b, " <- %s", n.replace(text(src)))
	}
	var body string
	for _, key := range slices.Sorted(maps.Keys(op)) {
		switch key {
		case "do", "dst", "src", "why":
		case "mode":
			fmt.Fprintf(&b, " mode=%o", int(op[key].(float64)))
		case "id":
			b.WriteString(" id") // device and inode
		case "data":
			var note string
			note, body = n.file(text(op["dst"]), text(op[key]))
			b.WriteString(note)
		case "size":
			if op["dst"] != "/.ringfence" { // as large as what is in it
				fmt.Fprintf(&b, " size=%s", n.value(key, op[key]))
			}
		default:
			fmt.Fprintf(&b, " %s=%s", key, n.value(key, op[key]))
		}
	}
	fmt.Fprintf(&b, "  # %s\n%s", n.replace(text(op["why"])), body)
	return b.String()
}

// file writes what is in a generated file: here if it is short, and else by the
// name of a file in textDir.
func (n facts) file(dst, encoded string) (note, body string) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return " " + err.Error(), ""
	}
	content := n.replace(readable(dst, data))
	if content == "" {
		return " empty", ""
	}
	if strings.Count(content, "\n") <= inline {
		for line := range strings.Lines(content) {
			body += "    | " + strings.TrimSuffix(line, "\n") + "\n"
		}
		return "", body
	}
	name := fmt.Sprintf("%s-%x", path.Base(dst), sha256.Sum256([]byte(content)))[:len(path.Base(dst))+9]
	texts[name] = content
	return " text=" + name, ""
}

// readable is a file as a person reads it.
func readable(dst string, data []byte) string {
	switch {
	case strings.HasSuffix(dst, ".pem"):
		return certificates(data)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "(binary)\n"
	}
	return string(data)
}

// certificates tells what a certificate of the broker is good for; the rest of
// it is new in each session.
func certificates(data []byte) string {
	var b strings.Builder
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err.Error() + "\n"
		}
		fmt.Fprintf(&b, "subject %s\nCA %v, path length %d, usage %b, critical %v\n", c.Subject, c.IsCA, c.MaxPathLen, c.KeyUsage, c.PermittedDNSDomainsCritical)
		for _, d := range c.PermittedDNSDomains {
			fmt.Fprintf(&b, "permits %s\n", strings.Replace(d, "registry.", "*.", 1)) // by its suffix, as policy names it
		}
	}
	return b.String()
}

// machineCode names a filter by what is in it.
func machineCode(encoded string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(encoded)))[:16]
}

// filterLine is a line of a plan that is another one on another kind of processor:
// the files are those of amd64.
var filterLine = regexp.MustCompile(`(?m)^(seccomp|watch|heard|filter) [0-9a-f]{16}$`)

// anyProcessor takes from a text what is amd64's.
func anyProcessor(s string) string {
	if runtime.GOARCH == "amd64" {
		return s
	}
	return filterLine.ReplaceAllString(s, "$1 of this kind of processor")
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// laterTexts are the texts that one line of got names and another one of want did.
func laterTexts(want, got string) map[string]string {
	named := func(s string) map[string]string {
		out := map[string]string{}
		for line := range strings.Lines(s) {
			if dst, rest, ok := strings.Cut(line, " text="); ok {
				out[dst] = strings.Fields(rest)[0]
			}
		}
		return out
	}
	out := map[string]string{}
	now := named(got)
	for dst, name := range named(want) {
		if now[dst] != name && now[dst] != "" {
			out[name] = texts[now[dst]]
		}
	}
	return out
}
