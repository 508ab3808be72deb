package hostexec

import (
	"fmt"
	"strings"
)

// Scanned is what a scan looks for in files of some names before an agent starts, and what
// it lets pass. hostexec.toml says what the fields mean.
type Scanned struct {
	Files         []string // with their parents, at any depth
	Form          string
	Find          []ScannedKey
	Pass          []ScannedKey
	Code          string
	Shown, Partly bool
	Marks         []string
	Early         bool
	Above         int
}

// ScannedKey is a setting. One without a test is found whatever its value is.
type ScannedKey struct {
	Finding, Path string
	Test          Test
}

// scanRow is one line of [content.find], [content.known] or [content.pass].
type scanRow struct {
	finding   string
	test      Test
	at, names []string
}

// row begins a line of one of the tables of a scan, and returns where its names belong.
// What stands before them has to be understood.
func (c *contentData) row(table, head string) any {
	list, row, ok := &c.find, scanRow{at: []string{"."}}, true
	switch table {
	case "content.find":
		var test string
		if row.finding, test, ok = strings.Cut(head, " if "); ok {
			row.test = testOf(test)
		}
		ok = row.finding != "" && ok == (row.test != nil)
	case "content.pass":
		var places string
		if head, places, ok = strings.Cut(head, " at "); ok {
			row.at = strings.Split(places, ", ")
		}
		list, row.test = &c.pass, testOf(head)
		ok = row.test != nil
	default:
		list, row.finding, row.at = &c.known, "SC-013", []string{head}
	}
	if !ok {
		return nil
	}
	*list = append(*list, row)
	return &(*list)[len(*list)-1].names
}

// scanned reports whether a scan looks into the files.
func (c *contentData) scanned() bool {
	return c.shown || c.partly || c.code != "" || len(c.find)+len(c.known)+len(c.pass) > 0
}

// Scanned lists what a scan looks for, in the order of the data. Files that the same
// contents name are together.
func (r *Rules) Scanned() []Scanned {
	var files []string
	by := map[string][]int{}
	for i, c := range r.scans {
		for _, f := range c.files {
			f = strings.TrimPrefix(f, "/")
			if by[f] == nil {
				files = append(files, f)
			}
			by[f] = append(by[f], i)
		}
	}
	var out []Scanned
	seen := map[string]int{}
	for _, f := range files {
		key := fmt.Sprint(by[f])
		at, ok := seen[key]
		if !ok {
			at = len(out)
			seen[key], out = at, append(out, r.together(by[f]))
		}
		out[at].Files = append(out[at].Files, f)
	}
	return out
}

// together is what some contents say of the same files.
func (r *Rules) together(contents []int) (out Scanned) {
	for _, i := range contents {
		c := r.scans[i]
		out.Form, out.Shown, out.Partly, out.Early = c.form, out.Shown || c.shown, out.Partly || c.partly, out.Early || c.early
		out.Code, out.Above, out.Marks = out.Code+c.code, max(out.Above, c.above), append(out.Marks, c.marks...)
		for _, row := range c.find {
			out.Find = row.add(out.Find)
		}
		for _, row := range c.known {
			out.Find = append(out.Find, ScannedKey{row.finding, row.at[0], unlike(row.names)})
		}
		for _, row := range c.pass {
			out.Pass = row.add(out.Pass)
		}
	}
	return out
}

func (row *scanRow) add(to []ScannedKey) []ScannedKey {
	for _, place := range row.at {
		for _, name := range row.names {
			if place != "." {
				name = place + "." + name
			}
			to = append(to, ScannedKey{row.finding, name, row.test})
		}
	}
	return to
}
