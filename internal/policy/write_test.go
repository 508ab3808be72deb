package policy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestWrite(t *testing.T) {
	p := mustDecode(t, "[files]\nread = ['/opt/a', '~/ü']\nmask = []\n[env.set]\nA = 'x\"y'\n[network]\npublish = [80, '1:2']\nproxy = 'env'\n[network.budget]\n'*.ü.test' = '1MB'\n[limits]\ntmp = 2147483648\nhome = 3\npids = 1024\n")
	p.Files.Read = append(p.Files.Read,
		Rule{"/a\nb", Source{File: "flag --ro"}}, Rule{"/\xff", Source{File: "flag --ro"}}, Rule{"/a\u202eb", Source{File: "evil\nname", Line: 3}})
	p.Network.Publish = append(p.Network.Publish, Rule{"x", Source{File: "flag --publish"}})
	p.Network.Budget = append(p.Network.Budget, Setting{"x:1", "1MB", Source{}})
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	want := `[files]
read = [
  "/opt/a",     # p.toml:2
  "~/ü",        # p.toml:2
#   "/a\nb"     # flag --ro
#   "/\xff"     # flag --ro
  "/a\u202Eb",  # "evil\nname":3
]
mask = []

[env.set]
A = "x\"y"  # p.toml:5

[network]
publish = [
  80,               # p.toml:7
  "1:2",            # p.toml:7
#   "x"             # flag --publish
]
proxy = "env"       # p.toml:8

[network.budget]
"*.ü.test" = "1MB"  # p.toml:10
# "x:1=1MB"

[limits]
pids = 1024   # p.toml:14
tmp = "2GiB"  # p.toml:12
home = 3      # p.toml:13
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// roundTrip prints and decodes p.
func roundTrip(t interface{ Fatalf(string, ...any) }, p *Policy) {
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatalf("%v", err)
	}
	again, err := Decode(bytes.NewReader(b.Bytes()), "again")
	if err != nil {
		t.Fatalf("what was printed does not decode: %v\n%s", err, b.Bytes())
	}
	if d := cmp.Diff(p, again, cmpopts.IgnoreTypes(Source{})); d != "" {
		t.Fatalf("decoded to something else:\n%s\n%s", d, b.Bytes())
	}
}

func TestWriteDecodeIsIdentity(t *testing.T) {
	roundTrip(t, Builtin())
	roundTrip(t, &Policy{})
	rapid.Check(t, func(t *rapid.T) { roundTrip(t, drawPolicy(t, "p", true)) })
}

func TestSchemaIsFresh(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "ringfence.schema.json")
	if *update {
		if err := os.WriteFile(file, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shipped, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shipped, Schema()) {
		t.Errorf("%s is stale: go test ./internal/policy -run Schema -update", file)
	}
	if !json.Valid(shipped) {
		t.Error("not JSON")
	}
	for i := range secretKeys {
		if !strings.Contains(string(shipped), `"`+secretKeys[i].name+`": {`) {
			t.Errorf("%s is missing", secretKeys[i].name)
		}
	}
	for i := range keys {
		if !strings.Contains(string(shipped), `"`+keys[i].name+`": {`) {
			t.Errorf("%s is missing", &keys[i])
		}
	}
}

// TestAdd: a rule stands where a file would put it; a word takes the place of the last.
func TestAdd(t *testing.T) {
	p := &Policy{}
	for _, a := range [][3]string{{"files", "read", "/a"}, {"files", "read", "/b"}, {"network", "mode", "dev"}, {"network", "mode", "none"}} {
		if err := p.Add(a[0], a[1], Rule{Value: a[2]}); err != nil {
			t.Errorf("%q: %v", a, err)
		}
	}
	if got := p.Files.Read; len(got) != 2 || got[0].Value != "/a" || got[1].Value != "/b" {
		t.Errorf("read = %v", got)
	}
	if got := p.Network.Mode; got == nil || got.Value != "none" {
		t.Errorf("mode = %v", got)
	}
	for _, a := range [][2]string{{"files", "frobnicate"}, {"frobnicate", "read"}, {"limits", "pids"}, {"env", "set"}} {
		if err := p.Add(a[0], a[1], Rule{Value: "1"}); err == nil {
			t.Errorf("[%s] %s takes a rule", a[0], a[1])
		}
	}
}
