package settings

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// ends are what one reader or another takes for the end of a line, or for nothing.
var ends = []string{"\n", "\r", "\r\n", "\u2028", "\u2029", "\u0085", "\v", "\f", "\x00", "\ufeff", "\u00a0", "\u200b", "\x1b", " "}

// hiddenJSON hides a member in every way that people thought of, beside a member whose
// value is only text.
func hiddenJSON(member, text string) []string {
	name, value, _ := strings.Cut(member, ": ")
	escaped := `"\u00` + "6d" + name[2:]
	out := []string{
		"{" + member + "}", "{/*/ x */" + member + "}", "{/* x /* */" + member + "}", "{/**/" + member + "/**/}", "{// /*\n" + member + "\n// */\n}", "{/* // */" + member + "}",
		"{" + text + `: "//", ` + member + "}", "{" + text + `: "/*", ` + member + `, "x": "*/"}`, "{" + text + `: "\\", ` + member + "}", "{" + text + `: "\\\"//", ` + member + "}",
		"{" + escaped + ": " + value + "}", "{" + name + ": {}, " + member + "}", "{" + member + ", " + name + ": {}}", "\ufeff{" + member + "}", "\ufeff\ufeff{" + member + "}",
		"{" + member + ",}", "{" + member + ",,}", "{," + member + "}", "[" + "{" + member + "}]", "{} {" + member + "}", "{" + member + "} x", "{" + text + `: "` + "\xc3" + `", ` + member + "}",
		"{" + text + ": 01, " + member + "}", "{" + text + ": .5, " + member + "}", "{" + text + ": 'x', " + member + "}", "{" + text + `: "x` + "\n" + `", ` + member + "}", "{" + text + `: "\x", ` + member + "}",
		"{# x\n" + member + "}", "{" + strings.Trim(name, `"`) + ": " + value + "}", `{"__proto__": {` + member + "}}", "{\n// x\\\n" + member + "}", "//\n{" + member + "}//", "{" + text + " //\n: \"x\", " + member + "}",
		"{<!-- \n" + member + "}", "{" + text + `: "\ud800", ` + member + "}", utf16("{" + member + "}"),
	}
	for _, end := range ends {
		out = append(out, "{ // x"+end+member+"\n}", "{ /* x"+end+"*/"+member+"\n}", "{"+end+member+"}", "{"+text+`: "x`+end+`", `+member+"}", "{ // x"+end+"\n"+member+"\n}")
	}
	return out
}

func utf16(s string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for i := range len(s) {
		b.WriteString(s[i:i+1] + "\x00")
	}
	return b.String()
}

// naiveJSON reads JSON with comments that end at "\n", as many do.
var comments = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)

func naiveJSON(text string) bool {
	var tree any
	if json.Unmarshal([]byte(comments.ReplaceAllString(strings.TrimPrefix(text, "\ufeff"), "")), &tree) != nil {
		return true
	}
	return len(marked(tree)) > 0
}

// jsonFile makes files of JSON with comments.
type jsonFile struct {
	harmless, hostile []string // members
	texts             []string // what the reader replaces
	strict            bool     // the reader knows no comments: every other file has none
}

func (f jsonFile) generate(r *rand.Rand) string {
	pieces := slices.Concat(ends, f.texts, []string{"//", "/*", "*/", "/*/", "//\r", "// x\r", "\"", "\\", "\\\"", "{", "}", "[", "]", ",", ":", "\\u006d", "null", "0", "#", "'", "\xc3", "\xff"})
	plain := f.strict && r.IntN(2) == 0
	space := func() string {
		if plain || r.IntN(3) > 0 {
			return " "
		}
		return []string{"", "\n", "\t", "// x\n", "/* x */", "// x" + ends[r.IntN(len(ends))], "/* x" + ends[r.IntN(len(ends))] + "*/", "// \"{,\n", "/*/ x */", "//*\n"}[r.IntN(10)]
	}
	var members []string
	for range r.IntN(3) {
		members = append(members, f.harmless[r.IntN(len(f.harmless))])
	}
	hidden := ""
	for range 1 + r.IntN(2) {
		member := f.hostile[r.IntN(len(f.hostile))]
		if !plain && r.IntN(2) == 0 { // in what is a comment for some
			end := ends[r.IntN(len(ends))]
			if r.IntN(2) == 0 {
				end = "\r"
			}
			hidden += "// x" + end + member + ",\n"
			continue
		}
		members = append(members, member)
	}
	members = append(members, f.harmless[0])
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var b strings.Builder
	b.WriteString(space() + "{" + hidden)
	for i, m := range members {
		if i > 0 {
			b.WriteString(",")
		}
		name, value, _ := strings.Cut(m, ": ")
		if r.IntN(8) == 0 {
			value = `"x", ` + name + ": " + value // there twice
		}
		if r.IntN(8) == 0 {
			value = `"` + f.texts[r.IntN(len(f.texts))] + `"`
		}
		if r.IntN(8) == 0 {
			name = `"` + escape(r, strings.Trim(name, `"`)) + `"`
		}
		b.WriteString(space() + name + space() + ":" + space() + value + space())
	}
	if r.IntN(6) == 0 {
		b.WriteString(",")
	}
	b.WriteString("}" + space())
	return edit(r, b.String(), pieces, max(0, r.IntN(6)-3))
}

// escape writes one letter as a number.
func escape(r *rand.Rand, s string) string {
	const digits = "0123456789abcdef"
	i := r.IntN(len(s))
	return s[:i] + `\u00` + digits[s[i]>>4:s[i]>>4+1] + digits[s[i]&15:s[i]&15+1] + s[i+1:]
}

// edit puts pieces into a text, or in the place of what is there, or takes some out.
func edit(r *rand.Rand, text string, pieces []string, times int) string {
	for range times {
		at := r.IntN(len(text) + 1)
		end := min(len(text), at+r.IntN(3))
		switch piece := pieces[r.IntN(len(pieces))]; r.IntN(4) {
		case 0:
			text = text[:at] + text[end:]
		case 1:
			text = text[:at] + piece + text[end:]
		default:
			text = text[:at] + piece + text[at:]
		}
	}
	return text
}

// tomlFile makes files of TOML for Codex.
func tomlFile(r *rand.Rand) string {
	names := func(s string) string {
		switch r.IntN(6) {
		case 0:
			return `"` + s + `"`
		case 1:
			return "'" + s + "'"
		case 2:
			return `"` + escape(r, s) + `"`
		case 3:
			return " " + s + "\t"
		}
		return s
	}
	shapes := []func() string{
		func() string { return names("model") + " = \"x\"\n" },
		func() string { return names("review_model") + " = '''\n[x]\n'''\n" },
		func() string {
			return names("model_reasoning_effort") + ` = """hi` + []string{`"""`, `""""`, `"""""`, `\"""""`}[r.IntN(4)] + "\n"
		},
		func() string {
			return "[" + names("mcp_servers") + "." + names("EVIL") + "]\n" + names("command") + " = \"EVIL\"\n"
		},
		func() string { return names("mcp_servers") + "." + names("EVIL") + ".command = 'EVIL'\n" },
		func() string { return names("mcp_servers") + " = { EVIL = { command = \"EVIL\" } }\n" },
		func() string { return names("notify") + " = [ \"EVIL\", # ]\n ]\n" },
		func() string { return "[" + names("profiles") + ".a]\n" + names("notify") + " = [\"EVIL\"]\n" },
		func() string { return "[" + names("features") + "]\nEVIL = true\n" },
		func() string { return "[[" + names("skills") + ".config]]\npath = \"EVIL\"\nenabled = true\n" },
		func() string { return "# x" + ends[r.IntN(len(ends))] + "\n" },
	}
	pieces := slices.Concat(ends, []string{"\"", "'", "\"\"\"", "'''", "\\", "#", "[", "]", "[[", "]]", "{", "}", "=", ".", ",", "\\u006d", "\\x6d", "\\e", "1979-05-27", "07:32:00", "0x1", "1_0", "inf", "\xff", "é"})
	var b strings.Builder
	for range 1 + r.IntN(5) {
		b.WriteString(shapes[r.IntN(len(shapes))]())
	}
	if !strings.Contains(b.String(), mark) {
		b.WriteString(shapes[3]())
	}
	return edit(r, b.String(), pieces, max(0, r.IntN(5)-1))
}
