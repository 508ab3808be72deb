package policy

import (
	"fmt"
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
groups = ["+rust", "-docs"]
allow = ["GET,HEAD http://example.test/pub/*"]
ip = ["[fd00::/64]:443"]
publish = [3_000, "8080:80"]
host-ports = [0x1538]
proxy = "socks5://[fd00::1]:1080"
[network.budget]
"*.example.test" = "50MB"
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
		Env: Env{Pass: List{{"A", at(12)}}, Set: []Setting{{"B", "two words", at(14)}}},
		Network: Network{
			Mode: &Rule{"none", at(16)}, Groups: List{{"+rust", at(17)}, {"-docs", at(17)}},
			Allow: List{{"GET,HEAD http://example.test/pub/*", at(18)}}, IP: List{{"[fd00::/64]:443", at(19)}},
			Publish: List{{"3000", at(20)}, {"8080:80", at(20)}}, HostPorts: List{{"5432", at(21)}},
			Proxy:  &Rule{"socks5://[fd00::1]:1080", at(22)},
			Budget: []Setting{{"*.example.test", "50MB", at(24)}},
		},
		Limits:  Limits{Pids: &Limit{1000, at(26)}, Tmp: &Limit{512 << 20, at(27)}, Home: &Limit{4096, at(28)}},
		Require: Require{Walls: List{{"user", at(30)}}},
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
	{"mode", "[network]\nmode = 'host'\n", `p.toml:2: [network] mode: "host" is unknown here; known: none, locked, dev, internet, open
    2 | mode = 'host'
      |        ^~~~~~`, ""},
	{"near mode", "[network]\nmode = 'dve'\n", `p.toml:2: [network] mode: "dve" is unknown here; known: none, locked, dev, internet, open
    2 | mode = 'dve'
      |        ^~~~~`, `did you mean "dev"?`},
	{"group", "[network]\ngroups = ['+rsut']\n", `p.toml:2: [network] groups: there is no group "rsut"; ringfence policy groups lists them
    2 | groups = ['+rsut']
      |           ^~~~~~~`, `did you mean "+rust"?`},
	{"no switch", "[network]\ngroups = ['rust']\n", `p.toml:2: [network] groups: "rust" is no switch: write +NAME or -NAME
    2 | groups = ['rust']
      |           ^~~~~~`, `did you mean "+rust"?`},
	{"both ways", "[network]\ngroups = ['+rust',\n'-rust']\n", `p.toml:3: [network] groups: "-rust" contradicts "+rust", written on line 2
    3 | '-rust']
      | ^~~~~~~`, ""},
	{"host", "[network]\nallow = ['*.com']\n", `p.toml:2: [network] allow: "*.com": *.com is everybody's: name what is needed below it
    2 | allow = ['*.com']
      |          ^~~~~~~`, ""},
	{"address as host", "[network]\nallow = ['10.0.0.1']\n", `p.toml:2: [network] allow: "10.0.0.1": this is an address, not a name: an address is allowed with its port, see --allow-ip
    2 | allow = ['10.0.0.1']
      |          ^~~~~~~~~~`, ""},
	{"deny a path", "[network]\ndeny = ['http://x.test/p']\n", `p.toml:2: [network] deny: "http://x.test/p": a deny is a name, or a name and a port, and nothing else
    2 | deny = ['http://x.test/p']
      |         ^~~~~~~~~~~~~~~~~`, ""},
	{"address without port", "[network]\nip = ['192.168.1.20']\n", `p.toml:2: [network] ip: "192.168.1.20": an address is allowed with one port, as in 192.168.1.20:5432
    2 | ip = ['192.168.1.20']
      |       ^~~~~~~~~~~~~~`, ""},
	{"port", "[network]\npublish = [70000]\n", `p.toml:2: [network] publish: 70000 is no port: they go from 1 to 65535
    2 | publish = [70000]
      |            ^~~~~`, ""},
	{"quoted port", "[network]\npublish = ['3000']\n", `p.toml:2: [network] publish: "3000" is no pair such as "8080:3000"
    2 | publish = ['3000']
      |            ^~~~~~`, "a number stands without quotes"},
	{"one port twice", "[network]\npublish = ['80:80']\n", `p.toml:2: [network] publish: "80:80" names one port twice: write 80
    2 | publish = ['80:80']
      |            ^~~~~~~`, ""},
	{"pair of host ports", "[network]\nhost-ports = ['1:2']\n", `p.toml:2: [network] host-ports must be a list of port numbers, and holds a string
    2 | host-ports = ['1:2']
      |               ^~~~~`, ""},
	{"duplicate port", "[network]\nhost-ports = [80, 0x50]\n", `p.toml:2: [network] host-ports: duplicate "80", first written on line 2
    2 | host-ports = [80, 0x50]
      |                   ^~~~`, ""},
	{"proxy", "[network]\nproxy = 'ftp://x.test:1'\n", `p.toml:2: [network] proxy: "ftp://x.test:1" is neither none, env, http://HOST:PORT, https://HOST:PORT nor socks5h://HOST:PORT
    2 | proxy = 'ftp://x.test:1'
      |         ^~~~~~~~~~~~~~~~`, ""},
	{"password", "[network]\nproxy = 'http://u:p@x.test:1'\n", `p.toml:2: [network] proxy: a policy holds no password: use env and the launcher's variables
    2 | proxy = 'http://u:p@x.test:1'
      |         ^~~~~~~~~~~~~~~~~~~~~`, ""},
	{"budget", "[network.budget]\n'x.test' = '50 MB'\n", `p.toml:2: [network] budget x.test: "50 MB" is no size: write a positive number of bytes, KB, MB, GB, KiB, MiB or GiB
    2 | 'x.test' = '50 MB'
      |            ^~~~~~~`, ""},
	{"budget of a port", "[network.budget]\n'x.test:80' = '50MB'\n", `p.toml:2: [network] budget: "x.test:80": a budget is for a name, whatever the port
    2 | 'x.test:80' = '50MB'
      | ^~~~~~~~~~~`, ""},
	{"budget without quotes", "[network.budget]\nx.test = '50MB'\n", `p.toml:2: [network] budget holds strings, not tables
    2 | x.test = '50MB'
      |   ^~~~`, "a name with dots stands in quotes"},
	{"budget twice", "[network.budget]\n'x.test' = '50MB'\n'X.test' = '60MB'\n", `p.toml:3: duplicate key "x.test", first written on line 2
    3 | 'X.test' = '60MB'
      | ^~~~~~~~`, ""},
	{"wall", "[require]\nwalls = ['secomp']\n", `p.toml:2: [require] walls: "secomp" is unknown here; known: user, mount, pid, ipc, uts, net, cgroup, keyring, nested, caps, no-new-privs, landlock, seccomp, tty
    2 | walls = ['secomp']
      |          ^~~~~~~~`, `did you mean "seccomp"?`},
	{"view", "[workspace]\nview = 'reviwe'\n", `p.toml:2: [workspace] view: "reviwe" is unknown here; known: review, live
    2 | view = 'reviwe'
      |        ^~~~~~~~`, `did you mean "review"?`},
	{"absolute mask", "[workspace]\nmask = ['/w/x']\n", `p.toml:2: [workspace] mask: "/w/x" is not relative: masks hold in every workspace
    2 | mask = ['/w/x']
      |         ^~~~~~`, ""},
	{"dots of a glob", "[workspace]\nreveal = ['~/../x']\n", `p.toml:2: [workspace] reveal: "~/../x": "..": write the path it leads to
    2 | reveal = ['~/../x']
      |           ^~~~~~~~`, ""},
	{"stars", "[workspace]\nmask = ['a**']\n", `p.toml:2: [workspace] mask: "a**": ** stands alone between slashes
    2 | mask = ['a**']
      |         ^~~~~`, ""},
	{"negative undo", "[workspace]\nundo = -1\n", `p.toml:2: [workspace] undo: a limit is at least 0
    2 | undo = -1
      |        ^~`, ""},
	{"mask outside", "mask = []\n", `p.toml:1: unknown section "mask"
    1 | mask = []
      | ^~~~`, `"mask" belongs under [workspace] or [files]`},
	{"age", "[supply]\nage = '3 days'\n", `p.toml:2: [supply] age: "3 days" is no age: write days or hours as 3d or 72h, or 0 for no wait
    2 | age = '3 days'
      |       ^~~~~~~~`, ""},
	{"package", "[supply]\nallow = ['gem:rails']\n", `p.toml:2: [supply] allow: "gem:rails": there are packages of npm, pypi, go, crates
    2 | allow = ['gem:rails']
      |          ^~~~~~~~~~~`, ""},
	{"every package", "[supply]\nallow = ['npm:*']\n", `p.toml:2: [supply] allow: "npm:*" is every package: age and scripts are what switches the brakes off
    2 | allow = ['npm:*']
      |          ^~~~~~~`, ""},
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
	var hosts strings.Builder
	hosts.WriteString("[network]\nallow = [\n")
	for i := range maxHosts + 1 {
		fmt.Fprintf(&hosts, "\"h%d.test\",\n", i)
	}
	hosts.WriteString("]\n")
	var masks strings.Builder
	masks.WriteString("[workspace]\nmask = [\n")
	for i := range maxGlobs + 1 {
		fmt.Fprintf(&masks, "\"m%d\",\n", i)
	}
	masks.WriteString("]\n")
	for name, c := range map[string]struct{ text, want string }{
		"masks":   {masks.String(), "[workspace] mask holds at most 256 values"},
		"size":    {strings.Repeat("#\n", maxBytes/2) + "\n", "larger than 1024 KiB"},
		"rules":   {many.String(), "at most 4096 rules"},
		"nesting": {"x = " + strings.Repeat("[", maxBytes-10), "not valid TOML"},
		"hosts":   {hosts.String(), "at most 16384 rules of the network"},
		"rule":    {"[network]\nallow = ['x.test/" + strings.Repeat("a", maxHost) + "']", "more than 1024 bytes"},
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

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "2KB": 2e3, "50MB": 50e6, "3GB": 3e9, "1KiB": 1 << 10, "512MiB": 512 << 20, "2GiB": 2 << 30,
		"": 0, "0": 0, "0MB": 0, "-1": 0, "+1": 0, "1 MB": 0, "MB": 0, "1M": 0, "1mb": 0, "1B": 0, "1.5MB": 0, "1TB": 0, "99999999999GB": 0,
	} {
		got, err := ParseBytes(s)
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
