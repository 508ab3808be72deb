package module

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got := parse("alias=nft-chain-1-nat\x00license=GPL\x00alias=nft-chain-2-nat\x00\x00depends=nf_tables,crc32c-intel\x00name=x\x00")
	want := Info{Depends: []string{"nf_tables", "crc32c_intel"}, Aliases: []string{"nft-chain-1-nat", "nft-chain-2-nat"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(Info{}, parse("depends=\x00retpoline=Y\x00")); d != "" {
		t.Errorf("a module without needs: -want +got:\n%s", d)
	}
}

func TestReadIsStrict(t *testing.T) {
	for _, s := range []string{"", "\x7fELF", strings.Repeat("x", 4096)} {
		if i, err := Read(strings.NewReader(s)); err == nil {
			t.Errorf("%.20q is taken for %+v", s, i)
		}
	}
}

func TestClosure(t *testing.T) {
	needs := map[string][]string{"redir": {"tables", "nat"}, "nat": {"track", "crc"}, "tables": {"crc"}, "track": nil, "crc": nil,
		"this": {"that"}, "that": {"this"}, "a_b": nil}
	depends := func(name string) ([]string, error) {
		n, ok := needs[name]
		if !ok {
			return nil, fmt.Errorf("no %s", name)
		}
		return n, nil
	}
	for _, tc := range []struct {
		names, want []string
		err         string
	}{
		{names: []string{"redir", "tables"}, want: []string{"crc", "tables", "track", "nat", "redir"}},
		{names: []string{"a-b", "a_b"}, want: []string{"a_b"}},
		{names: nil, want: nil},
		{names: []string{"crc", "gone"}, err: "no gone"},
		{names: []string{"this"}, err: `kernel module this needs itself: ["this" "that"]`},
	} {
		got, err := Closure(tc.names, depends)
		if d := cmp.Diff(tc.want, got); d != "" || fmt.Sprint(err) != map[bool]string{true: "<nil>", false: tc.err}[tc.err == ""] {
			t.Errorf("%q: %v, -want +got:\n%s", tc.names, err, d)
		}
	}
}
