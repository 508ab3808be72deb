package environ

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/fault"
)

func parse(text string) (map[string]string, error) {
	settings, err := ParseFile(strings.NewReader(text), "env")
	got := map[string]string{}
	for _, s := range settings {
		got[s.Name] = s.Value
	}
	return got, err
}

func TestParseFile(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                                 {},
		"\n  \n# c\n\t# A=1\n":             {},
		"A=1":                              {"A": "1"},
		"A=\nB=''\nC=\"\"\n":               {"A": "", "B": "", "C": ""},
		"export A=1\n export\tB=2":         {"A": "1", "B": "2"},
		"export=1":                         {"export": "1"},
		"A=1\r\nB='2'\r\n":                 {"A": "1", "B": "2"},
		"A=1 # c\nB='2'\t#c\nC= #":         {"A": "1", "B": "2", "C": ""},
		"A=x#y=z":                          {"A": "x#y=z"},
		`A='$HOME "\n" #'`:                 {"A": `$HOME "\n" #`},
		`A="\$\` + "`" + `\"\\ \n\r\t' #"`: {"A": "$`\"\\ \n\r\t' #"},
		"A=\xff\xfe\nB='\xff\x01'":         {"A": "\xff\xfe", "B": "\xff\x01"},
		"A=https://h:1/p?q=%20,@+*":        {"A": "https://h:1/p?q=%20,@+*"},
		"_a9=1":                            {"_a9": "1"},
	} {
		if got, err := parse(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	settings, err := ParseFile(strings.NewReader("\nA=1\n# c\nB=2"), "env")
	if err != nil || len(settings) != 2 || settings[1].Source.Line != 4 || settings[1].Source.File != "env" {
		t.Errorf("sources: %+v, %v", settings, err)
	}
}

func TestParseFileMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"A=1\nhunter2":                     "env:2: no = in the line; NAME=VALUE is wanted",
		"export hunter2":                   "env:1: no = in the line; NAME=VALUE is wanted",
		"=hunter2":                         "env:1: no valid name before the =",
		"hun-ter2=hunter2":                 "env:1: no valid name before the =",
		"A =hunter2":                       "env:1: no valid name before the =",
		"\ufeffA=hunter2":                  "env:1: no valid name before the =",
		"A=hunter2 B=hunter2":              "env:1: text after the value; a value with blanks needs quotes\n    1 | A=…\n      | ^",
		"A='hunter2'hunter2":               "env:1: text after the value; a value with blanks needs quotes\n    1 | A=…\n      | ^",
		"A='hunter2'#hunter2":              "env:1: text after the value; a value with blanks needs quotes\n    1 | A=…\n      | ^",
		"A='hunter2":                       "env:1: the single quote is not closed in this line\n    1 | A=…\n      | ^",
		"A=\"hunter2\nB=1\"":               "env:1: the double quote is not closed in this line\n    1 | A=…\n      | ^",
		`A="hunter2\`:                      "env:1: a backslash at the end of the line\n    1 | A=…\n      | ^",
		`A="hunter2\x"`:                    "env:1: an unknown escape after a backslash\n    1 | A=…\n      | ^",
		`A="$hunter2"`:                     "env:1: $ and ` expand nothing here; write \\$ or \\`, or use single quotes\n    1 | A=…\n      | ^",
		"A=$hunter2":                       "env:1: a character in the value needs quotes\n    1 | A=…\n      | ^",
		"A=hunter2;x":                      "env:1: a character in the value needs quotes\n    1 | A=…\n      | ^",
		"A=hun\x1bter2":                    "env:1: a character in the value needs quotes\n    1 | A=…\n      | ^",
		"A=~/hunter2":                      "env:1: ~ expands to nothing here; write the path out, or use single quotes\n    1 | A=…\n      | ^",
		"A=/hunter2:~":                     "env:1: ~ expands to nothing here; write the path out, or use single quotes\n    1 | A=…\n      | ^",
		"LONG=1\n\n export LONG=hunter2":   "env:3: already given in line 1\n    3 | LONG=…\n      | ^~~~",
		"A=hunter2\x00":                    "env:1: a NUL byte",
		"#\x00":                            "env:1: a NUL byte",
		"#" + strings.Repeat("x", maxFile): "env: larger than 65536 bytes",
	} {
		_, err := parse(text)
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("%.40q:\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := parse("#" + strings.Repeat("x", maxFile-1)); err != nil {
		t.Errorf("a file of the greatest size: %v", err)
	}
	if _, err := ParseFile(strings.NewReader("x"), "a\x1bb"); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a file name reaches the terminal raw: %v", err)
	}
}

// What is accepted means the same to sh. The values are made of the characters
// on which parsers differ.
func TestParseFileAgreesWithShell(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	values := rapid.SliceOfN(rapid.OneOf(
		rapid.StringMatching("[ab '\"\\\\$`#~:=;&|<>(){}*?!\té.-]{0,6}"),
		rapid.StringMatching(`[ab/:~]{1,6}( #[a'"]{0,2})?`),
		rapid.StringMatching("'[ab \"\\\\$`#~;&!\té]{0,6}'( ?#)?"),
		rapid.StringMatching("\"([ab$ '#~;&!\té]|\\$a|\\\\[\\\\\"$`a]){0,4}\"( ?#)?"),
	), 1, 40)
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		want := map[string]string{}
		for i, v := range values.Draw(t, "values") {
			line := fmt.Sprintf("V%d=%s\n", i, v)
			if got, err := parse(line); err == nil {
				text += line
				maps.Copy(want, got)
			}
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", "set -a; . ./f; exec env -0")
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=/elsewhere"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("sh: %v on\n%s", err, text)
		}
		got := map[string]string{}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, "V") {
				got[name] = value
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("sh %q\nwe %q\nof\n%s", got, want, text)
		}
	})
}

// FuzzParseFile: no panic; what is accepted has valid, distinct names and no NUL;
// quoted back it reads the same; a complaint shows nothing but a name.
func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"A=1\nexport B='2' # c\n", "A=\"\\n\\$\"\r\n", "A='x", "=\n", "A=1\nA=2", "\xff\xfe=\x00", "A=b c", "#"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		settings, err := ParseFile(strings.NewReader(string(data)), "env")
		if err != nil {
			if len(settings) > 0 || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' || r == '\ufffd' }) {
				t.Fatalf("%d settings, error %q", len(settings), err)
			}
			return
		}
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`", "\n", `\n`, "\r", `\r`)
		var again strings.Builder
		want := map[string]string{}
		for _, s := range settings {
			if _, twice := want[s.Name]; twice || !validName(s.Name) || strings.Contains(s.Value, "\x00") {
				t.Fatalf("accepted %+v", s)
			}
			want[s.Name] = s.Value
			fmt.Fprintf(&again, "%s=\"%s\"\n", s.Name, quote.Replace(s.Value))
		}
		if again.Len() > maxFile {
			return
		}
		if got, err := parse(again.String()); err != nil || !maps.Equal(got, want) {
			t.Fatalf("again: %q, %v\nwant   %q", got, err, want)
		}
	})
}
