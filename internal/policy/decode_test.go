package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/fault"
)

func mustDecode(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Decode(strings.NewReader(text), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDecode(t *testing.T) {
	got := mustDecode(t, `
[workspace]
paths = ["/w", "~/v:ro"]
[files]
read = [
  "/opt/data", # why
  '~/ref',
]
write = []
mask = [".env", "/w/key"]
[env]
pass = ["A"]
[env.set]
B = "two words"
[network]
mode = "none"
[limits]
pids = 1_000
tmp = "512MiB"
home = 0x1000
[require]
walls = ["user"]
`)
	at := func(line int) Source { return Source{"p.toml", line} }
	want := &Policy{
		Workspace: Workspace{Paths: List{{"/w", at(3)}, {"~/v:ro", at(3)}}},
		Files: Files{
			Read:  List{{"/opt/data", at(6)}, {"~/ref", at(7)}},
			Write: List{},
			Mask:  List{{".env", at(10)}, {"/w/key", at(10)}},
		},
		Env:     Env{Pass: List{{"A", at(12)}}, Set: []Setting{{"B", "two words", at(14)}}},
		Network: Network{Mode: &Rule{"none", at(16)}},
		Limits:  Limits{Pids: &Limit{1000, at(18)}, Tmp: &Limit{512 << 20, at(19)}, Home: &Limit{4096, at(20)}},
		Require: Require{Walls: List{{"user", at(22)}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeInlineAndDotted(t *testing.T) {
	got := mustDecode(t, "env = { pass = ['A'], set = { B = 'b' } }\nfiles.read = ['/a']\n")
	if got.Env.Pass[0].Value != "A" || got.Env.Set[0].Name != "B" || got.Files.Read[0].Source.Line != 2 {
		t.Errorf("%+v", got)
	}
}

// The text of every error is part of the interface: a person reads it.
var decodeErrors = []struct{ name, text, want, hint string }{
	{"unknown key", "[files]\nraed = []\n", `p.toml:2: unknown key "raed" in [files]
    2 | raed = []
      | ^~~~`, `did you mean "read"?`},
	{"far key", "[files]\n\tcompletely = []", `p.toml:2: unknown key "completely" in [files]
    2 |  completely = []
      |  ^~~~~~~~~~`, "[files] knows: read, write, mask, expose"},
	{"unknown section", "[file]\n", `p.toml:1: unknown section "file"
    1 | [file]
      |  ^~~~`, `did you mean "files"?`},
	{"key outside", "read = []\n", `p.toml:1: unknown section "read"
    1 | read = []
      | ^~~~`, `"read" belongs under [files]`},
	{"wrong type", "[files]\nread = 3\n", `p.toml:2: [files] read must be a list of strings, not an integer
    2 | read = 3
      |        ^`, ""},
	{"wrong element", "[env]\npass = [\n  'A',\n  true ]\n", `p.toml:4: [env] pass must be a list of strings, and holds a boolean
    4 |   true ]
      |   ^~~~`, ""},
	{"nested list", "[env]\npass = [['A']]\n", `p.toml:2: [env] pass must be a list of strings, and holds a list
    2 | pass = [['A']]
      | ^~~~`, ""},
	{"table for list", "[files.read]\n", `p.toml:1: [files] read is a list of strings, not a table
    1 | [files.read]
      |        ^~~~`, ""},
	{"list of tables", "[[files]]\n", `p.toml:1: no section is a list of tables: write [files]
    1 | [[files]]
      |   ^~~~~`, ""},
	{"section as value", "files = 1\n", `p.toml:1: [files] is a section, not an integer
    1 | files = 1
      |         ^`, ""},
	{"duplicate key", "[files]\nread = []\nread = []\n", `p.toml:3: duplicate key "read", first written on line 2
    3 | read = []
      | ^~~~`, ""},
	{"duplicate table", "[env]\n[files]\n[env]\n", `p.toml:3: duplicate table "env", first written on line 1
    3 | [env]
      |  ^~~`, ""},
	{"duplicate across forms", "env.pass = ['A']\n[env]\n", `p.toml:2: not valid TOML: table env already exists as defined by a dotted key
    2 | [env]
      |  ^`, ""},
	{"duplicate value", "[env]\npass = ['A', 'A']\n", `p.toml:2: [env] pass: duplicate "A", first written on line 2
    2 | pass = ['A', 'A']
      |              ^~~`, ""},
	{"duplicate variable", "[env.set]\nA = ''\nA = ''\n", `p.toml:3: duplicate key "A", first written on line 2
    3 | A = ''
      | ^`, ""},
	{"relative", "[files]\nread = ['data']\n", `p.toml:2: [files] read: "data" is not absolute: a path begins with / or ~/
    2 | read = ['data']
      |         ^~~~~~`, ""},
	{"other home", "[files]\nread = ['~root/x']\n", `p.toml:2: [files] read: "~root/x" is not absolute: a path begins with / or ~/
    2 | read = ['~root/x']
      |         ^~~~~~~~~`, ""},
	{"glob", "[files]\nmask = ['**/.env']\n", `p.toml:2: [files] mask: "**/.env" holds "*": ringfence builds its view from exact paths and never walks a tree
    2 | mask = ['**/.env']
      |         ^~~~~~~~~`, ""},
	{"dots", "[files]\nmask = ['a/../../b']\n", `p.toml:2: [files] mask: "a/../../b" holds "..": write the path it leads to
    2 | mask = ['a/../../b']
      |         ^~~~~~~~~~~`, ""},
	{"whole workspace", "[files]\nmask = ['./']\n", `p.toml:2: [files] mask: "./" would hide a whole workspace
    2 | mask = ['./']
      |         ^~~~`, ""},
	{"tilde mask", "[files]\nmask = ['~x']\n", `p.toml:2: [files] mask: "~x" is neither ~/… nor plainly relative: write ./~x for a file of that name
    2 | mask = ['~x']
      |         ^~~~`, ""},
	{"control", "[files]\nread = [\"/a\\u0000b\"]\n", `p.toml:2: [files] read: "/a\x00b" holds a control character (U+0000)
    2 | read = ["/a\u0000b"]
      |         ^~~~~~~~~~~`, ""},
	{"rw workspace", "[workspace]\npaths = ['/a:rw']\n", `p.toml:2: [workspace] paths: "/a:rw" ends in :rw: a workspace is read-write unless it ends in :ro
    2 | paths = ['/a:rw']
      |          ^~~~~~~`, ""},
	{"variable", "[env]\npass = ['A-B']\n", `p.toml:2: [env] pass: "A-B" is no name of a variable: letters, digits and _, no digit first
    2 | pass = ['A-B']
      |         ^~~~~`, ""},
	{"set name", "[env.set]\n\"1A\" = ''\n", `p.toml:2: [env] set: "1A" is no name of a variable: letters, digits and _, no digit first
    2 | "1A" = ''
      | ^~~~`, ""},
	{"set type", "[env.set]\nA = 1\n", `p.toml:2: [env] set A must be a string, not an integer
    2 | A = 1
      |     ^`, ""},
	{"set deep", "[env.set]\nA.B = ''\n", `p.toml:2: [env] set holds strings, not tables
    2 | A.B = ''
      |   ^`, ""},
	{"mode", "[network]\nmode = 'host'\n", `p.toml:2: [network] mode: "host" is unknown here; known: none
    2 | mode = 'host'
      |        ^~~~~~`, ""},
	{"wall", "[require]\nwalls = ['secomp']\n", `p.toml:2: [require] walls: "secomp" is unknown here; known: user, mount, pid, ipc, uts, net, cgroup, keyring, nested, caps, no-new-privs, landlock, seccomp, tty
    2 | walls = ['secomp']
      |          ^~~~~~~~`, `did you mean "seccomp"?`},
	{"size", "[limits]\ntmp = '2GB'\n", `p.toml:2: [limits] tmp: "2GB" is no size: write a positive number of bytes, KiB, MiB, GiB or TiB
    2 | tmp = '2GB'
      |       ^~~~~`, ""},
	{"size for count", "[limits]\npids = '1KiB'\n", `p.toml:2: [limits] pids must be an integer, not a string
    2 | pids = '1KiB'
      |        ^~~~~~`, ""},
	{"zero", "[limits]\npids = 0\n", `p.toml:2: [limits] pids: a limit is at least 1
    2 | pids = 0
      |        ^`, ""},
	{"huge", "[limits]\npids = 99999999999999999999\n", `p.toml:2: [limits] pids: the number is too large
    2 | pids = 99999999999999999999
      |        ^~~~~~~~~~~~~~~~~~~~`, ""},
	{"float", "[limits]\nmemory = 1.5\n", `p.toml:2: [limits] memory must be an integer or a size such as "2GiB", not a float
    2 | memory = 1.5
      |          ^~~`, ""},
	{"syntax", "[files]\nread = [\"/a\" \"/b\"]\n", `p.toml:2: not valid TOML: expected ',' or ']' after array value
    2 | read = ["/a" "/b"]
      |              ^`, ""},
	{"end of file", "[files]\nread = [", `p.toml:2: not valid TOML: array is incomplete
    2 | read = [
      |        ^`, ""},
	{"not UTF-8", "# \xff\n", `p.toml:1: a byte is not UTF-8 (0xff)
    1 | # ?
      |   ^`, ""},
	{"escape sequence", "x\x1b[31m = 1\n", `p.toml:1: not valid TOML: expected '=' after key
    1 | x?[31m = 1
      |  ^`, ""},
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range decodeErrors {
		t.Run(c.name, func(t *testing.T) {
			p, err := Decode(strings.NewReader(c.text), "p.toml")
			if err == nil {
				t.Fatalf("decoded: %+v", p)
			}
			if p != nil || fault.KindOf(err) != fault.Usage {
				t.Errorf("policy %v, kind %v", p, fault.KindOf(err))
			}
			if d := cmp.Diff(c.want, err.Error()); d != "" {
				t.Errorf("text (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.hint, fault.HintOf(err)); d != "" {
				t.Errorf("hint (-want +got):\n%s", d)
			}
		})
	}
}

func TestDecodeBounds(t *testing.T) {
	var many strings.Builder
	many.WriteString("[files]\nread = [\n")
	for i := range maxRules + 1 {
		many.WriteString("\"/" + strings.Repeat("a", i%40) + string(rune('0'+i/40%10)) + string(rune('0'+i/400)) + "\",\n")
	}
	many.WriteString("]\n")
	for name, c := range map[string]struct{ text, want string }{
		"size":    {strings.Repeat("#\n", maxBytes/2) + "\n", "larger than 256 KiB"},
		"rules":   {many.String(), "at most 4096 rules"},
		"nesting": {"x = " + strings.Repeat("[", maxBytes-10), "not valid TOML"},
		"parts":   {"env.set" + strings.Repeat(".a", maxBytes/2-10) + "=1", "holds strings, not tables"},
		"key":     {strings.Repeat("k", maxBytes-10) + " = 1", "unknown section"},
		"line":    {"[files]\nread = [" + strings.Repeat(" ", 1000) + "3" + strings.Repeat(" ", 1000) + "]", "…"},
	} {
		_, err := Decode(strings.NewReader(c.text), "p.toml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v", name, err)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "4096": 4096, "1KiB": 1 << 10, "512MiB": 512 << 20, "2GiB": 2 << 30, "3TiB": 3 << 40,
		"": 0, "0": 0, "-1": 0, "+1": 0, "1 GiB": 0, "GiB": 0, "1GB": 0, "1G": 0, "1.5GiB": 0, "1_0": 0, "0x1": 0, "9999999TiB": 0,
	} {
		got, err := ParseSize(s)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, c := range [][3]string{
		{"~/a/", "/home/u", "/home/u/a"}, {"~/", "/home/u", "/home/u"}, {"/a//b/.", "/h", "/a/b"},
		{"~/a", "", "~/a"}, {".env", "/h", ".env"}, {"~x", "/h", "~x"},
	} {
		if got := Expand(c[0], c[1]); got != c[2] {
			t.Errorf("Expand(%q, %q) = %q", c[0], c[1], got)
		}
	}
}
