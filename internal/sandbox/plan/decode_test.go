package plan_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

func TestDecodeIsEncode(t *testing.T) {
	in := input()
	in.Process.Dir = "/home/dev/not-utf8-\xff\xfe\n"
	in.Process.Argv = []plan.Raw{"sh", "\xc3\x28"}
	in.Files = append(in.Files, long("/run/a", 5000), plan.File{Dst: "/run/b", Data: []byte("short")}, long("/run/c", 300_000))
	p := make1(t, in)
	b, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := plan.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, got); d != "" {
		t.Errorf("decode of encode differs (-want +got):\n%s", d)
	}
}

// encode is a plan as it is received.
func encode(p *plan.Plan) ([]byte, error) {
	head, contents, err := plan.Encode(p)
	return append(head, bytes.Join(contents, nil)...), err
}

// long is a file whose content follows the plan.
func long(at string, n int) plan.File {
	return plan.File{Dst: at, Data: bytes.Repeat([]byte("0123456789\n{}\x00\xff"), n/15+1)[:n]}
}

func TestContentsFollowThePlan(t *testing.T) {
	in := input()
	in.Files = append(in.Files, long("/run/a", 300_000))
	p := make1(t, in)
	b, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(b, long("/run/a", 300_000).Data) {
		t.Error("the content is not at the end")
	}
	for name, bad := range map[string][]byte{
		"cut":         b[:len(b)-1],
		"more":        append(bytes.Clone(b), 'x'),
		"less than 0": bytes.Replace(b, []byte(`"after":300000`), []byte(`"after":-30000`), 1),
		"twice":       bytes.Replace(b, []byte(`"after":300000`), []byte(`"after":300000,"data":"eA=="`), 1),
		"no file":     bytes.Replace(b, []byte(`{"do":"file","dst":"/run/a"`), []byte(`{"do":"mask","dst":"/run/a"`), 1),
	} {
		if bytes.Equal(bad, b) {
			t.Fatalf("%s: the fixture has changed", name)
		}
		if _, err := plan.Decode(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	b, err := encode(make1(t, input()))
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	for name, bad := range map[string]string{
		"unknown field":   strings.Replace(good, `{"version":2`, `{"extra":1,"version":2`, 1),
		"other version":   strings.Replace(good, `"version":2`, `"version":1`, 1),
		"trailing bytes":  good + "{}",
		"unknown op":      strings.Replace(good, `"do":"bind"`, `"do":"exec"`, 1),
		"relative target": strings.Replace(good, `"dst":"/usr"`, `"dst":"usr"`, 1),
		"climbing target": strings.Replace(good, `"dst":"/usr"`, `"dst":"/usr/../etc"`, 1),
		"empty":           "",
		"not an object":   "[]",
	} {
		if bad == good {
			t.Fatalf("%s: the fixture has changed", name)
		}
		if _, err := plan.Decode([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	in := input()
	in.Files = append(in.Files, long("/run/a", 5000))
	p, err := plan.Make(in)
	if err != nil {
		f.Fatal(err)
	}
	b, err := encode(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":2,"process":{"argv":["x"],"env":[],"dir":{"base64":"/w=="},"tty":0,"umask":18}}`))
	f.Add([]byte(`{"version":2,"ops":[{"do":"bind","dst":"/a","src":"/b"}],"process":{"argv":["x"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := plan.Decode(data)
		if err != nil {
			return
		}
		again, err := encode(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Decode(again)
		if err != nil {
			t.Fatalf("what was decoded does not decode again: %v", err)
		}
		if d := cmp.Diff(p, q); d != "" {
			t.Fatal(d)
		}
		for _, op := range p.Ops {
			if !strings.HasPrefix(string(op.Dst), "/") || strings.Contains(string(op.Dst)+"/", "/../") {
				t.Fatalf("accepted destination %q", op.Dst)
			}
		}
	})
}

// A private directory above what is ready is written, names what is below, and is decoded as
// strictly as all else.
func TestCache(t *testing.T) {
	in := input()
	in.Mounts = append(in.Mounts, plan.Mount{Src: "/state/home/.npm", Dst: in.User.Home + "/.npm", Write: true, Layer: &plan.Layer{Upper: "/state/over/upper", Work: "/state/over/work"}, Below: []string{"/ready/b", "/ready/a"}})
	p := make1(t, in)
	b, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := plan.Decode(b); err != nil || !cmp.Equal(p, got) {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"nothing below": bytes.Replace(b, []byte(`"lower":["/ready/b","/ready/a"]`), []byte(`"lower":[]`), 1),
		"not absolute":  bytes.Replace(b, []byte(`"/ready/b"`), []byte(`"ready/bb"`), 1),
		"no layer":      bytes.Replace(b, []byte(`"upper":"/state/over/upper"`), []byte(`"upper":""`), 1),
		"too many":      bytes.Replace(b, []byte(`"/ready/b",`), []byte(strings.Repeat(`"/ready/b",`, 8)), 1),
	} {
		if bytes.Equal(bad, b) {
			t.Errorf("%s: the test is out of date", name)
		}
		if _, err := plan.Decode(bad); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}

// TestDecodeCover: only names below the source can be hidden in it.
func TestDecodeCover(t *testing.T) {
	p := make1(t, input())
	cover := plan.Op{Do: plan.DoCover, Dst: "/share", Src: "/work", Hide: []plan.Raw{".env", "sub/.env", "\xff"}}
	for name, tc := range map[string]struct {
		change func(*plan.Op)
		ok     bool
	}{
		"the control":     {func(*plan.Op) {}, true},
		"nothing":         {func(o *plan.Op) { o.Hide = nil }, true},
		"above":           {func(o *plan.Op) { o.Hide = []plan.Raw{"../.env"} }, false},
		"an absolute one": {func(o *plan.Op) { o.Hide = []plan.Raw{"/.env"} }, false},
		"not clean":       {func(o *plan.Op) { o.Hide = []plan.Raw{"sub//.env"} }, false},
		"itself":          {func(o *plan.Op) { o.Hide = []plan.Raw{"."} }, false},
		"empty":           {func(o *plan.Op) { o.Hide = []plan.Raw{""} }, false},
		"a NUL":           {func(o *plan.Op) { o.Hide = []plan.Raw{"a\x00"} }, false},
		"too many":        {func(o *plan.Op) { o.Hide = make([]plan.Raw, 50001) }, false},
		"no source":       {func(o *plan.Op) { o.Src = "work" }, false},
	} {
		o, with := cover, *p
		tc.change(&o)
		with.Ops = append([]plan.Op{o}, p.Ops...)
		b, err := encode(&with)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Decode(b); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
