package ssh

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// honest is what a machine like this one says.
func honest(t *testing.T) *hello {
	b, err := openBuild("/proc/self/exe", runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	return look(b.sum, "/usr/bin:/bin:/nowhere:relative")
}

func frame(v any) string {
	var b []byte
	if s, ok := v.(string); ok {
		b = []byte(s)
	} else {
		b, _ = json.Marshal(v)
	}
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + string(b)
}

// machineThat is a machine whose far end is a script: it greets as ours does, and then says
// what it likes.
func machineThat(t *testing.T, before, is, says, then string) place {
	dir := t.TempDir()
	files := map[string]string{"before": before, "says": says,
		"ssh": "#!/bin/sh\n[ \"$1\" = -V ] && exec echo OpenSSH_9.9\nfor a; do :; done; m=${a#*m=}; m=${m%%;*}; cat " + dir + "/before; echo \"$m is " + is + "\"; read -r s n; echo \"$m have\"; cat " + dir + "/says; " + then + "\n"}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return place{host: "box", find: func(string) (string, error) { return filepath.Join(dir, "ssh"), nil }}
}

func uname() string {
	for name, arch := range arches {
		if arch == runtime.GOARCH {
			return "Linux " + name
		}
	}
	return ""
}

func TestHonest(t *testing.T) {
	h := honest(t)
	u, err := Rung{}.with(machineThat(t, "welcome\n\x1b[2Jnoise\n", uname(), frame(answer{Hello: h}), "cat >/dev/null")).Userland(context.Background(), "")
	if err != nil || u.Path != "/usr/bin:/bin" || len(u.System) == 0 || u.Machine.Arch != runtime.GOARCH {
		t.Errorf("%+v, %v", u, err)
	}
}

func (Rung) with(p place) Rung {
	r := New(p.host)
	r.Place = p
	return r
}

// TestLies: a machine that says what no ringfence says is refused, and nothing that it says
// reaches a terminal as it is.
func TestLies(t *testing.T) {
	told := func(change func(h *hello)) string {
		h := *honest(t)
		h.System = append([]node(nil), h.System...)
		change(&h)
		return frame(answer{Hello: &h})
	}
	whole := frame(answer{Hello: honest(t)})
	for name, says := range map[string]string{
		"nothing":        "",
		"half":           whole[:len(whole)/2],
		"no frame":       "hello",
		"giant":          "\xff\xff\xff\xff",
		"no json":        frame("hello"),
		"another form":   frame(" " + whole[4:]),
		"twice":          frame(`{"hello":null,"hello":null}`),
		"unknown":        frame(`{"hello":null,"more":1}`),
		"another answer": frame(answer{Needs: []byte{1}}),
		"two answers":    frame(answer{Hello: honest(t), Failed: "x"}),
		"failed":         frame(answer{Failed: "no \x1b[31mroom\a\n"}),
		"digest":         told(func(h *hello) { h.Sum = strings.Repeat("0", 64) }),
		"processor":      told(func(h *hello) { h.Arch = "riscv64" }),
		"landlock":       told(func(h *hello) { h.Landlock = -1 }),
		"kernel":         told(func(h *hello) { h.Kernel = "6.1\x1b[2J" }),
		"long kernel":    told(func(h *hello) { h.Kernel = strings.Repeat("6", 1000) }),
		"path":           told(func(h *hello) { h.Path = "/bin\n" }),
		"no system":      told(func(h *hello) { h.System = []node{} }),
		"other place":    told(func(h *hello) { h.System[0].Path = "/home" }),
		"place twice":    told(func(h *hello) { h.System = append(h.System, h.System[0]) }),
		"leads up":       told(func(h *hello) { h.System[0].Real = "/usr/../etc" }),
		"leads nowhere":  told(func(h *hello) { h.System[0].Real = "usr" }),
	} {
		_, err := Rung{}.with(machineThat(t, "", uname(), says, "exit 0")).Userland(context.Background(), "")
		if err == nil {
			t.Errorf("%s was believed", name)
		} else if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%s: %q", name, err)
		}
	}
	for name, p := range map[string]place{
		"flood":      machineThat(t, strings.Repeat("x", 1<<20), uname(), whole, ""),
		"many lines": machineThat(t, strings.Repeat("x\n", 1<<18), uname(), whole, ""),
		"system":     machineThat(t, "", "Plan9 x86_64", whole, ""),
		"machine":    machineThat(t, "", "Linux vax\x1b[2J", whole, ""),
	} {
		if _, err := (Rung{}.with(p)).Userland(context.Background(), ""); err == nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSilent: a machine that says nothing holds nobody up for longer than they want.
func TestSilent(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := (Rung{}.with(machineThat(t, "", uname(), "", "cat >/dev/null"))).Userland(ctx, ""); err == nil {
		t.Error("nothing was believed")
	}
}

// TestReady: where a session is there is a place, and no more.
func TestReady(t *testing.T) {
	for _, r := range []*ready{nil, {}, {Dir: "/", Self: "/x"}, {Dir: "x", Self: "/x"}, {Dir: "/a/../b", Self: "/x"}, {Dir: "/a\n", Self: "/x"}, {Dir: "/a"}} {
		if r.check() == nil {
			t.Errorf("%+v was taken", r)
		}
	}
	if err := (&ready{Dir: "/home/u/.cache/ringfence/work/x", Self: "/x"}).check(); err != nil {
		t.Error(err)
	}
}

// TestNoHost: without a machine nothing starts.
func TestNoHost(t *testing.T) {
	if got := New("").Try(context.Background()); len(got) != 1 || got[0].Status == "ok" || got[0].Fix == "" {
		t.Errorf("%+v", got)
	}
}

// TestScript: any shell hands it to sh as it is.
func TestScript(t *testing.T) {
	if strings.ContainsAny(script, "'!\\\n\t") {
		t.Error("a shell would read something into it")
	}
	if keyOf(&plan.Plan{}) == keyOf(&plan.Plan{Ops: []plan.Op{{Do: plan.DoLayer, Src: "/w"}}}) {
		t.Error("two projects have one key")
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"needs":"AQ=="}`))
	f.Add([]byte(`{"ready":{"dir":"/a","self":"/b"}}`))
	f.Add([]byte(`{"failed":"x"}`))
	f.Add([]byte(`{"hello":{"sum":"","arch":"amd64","kernel":"6","landlock":1,"path":"/bin","system":[{"path":"/usr","real":"/usr"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := parse(body)
		if err != nil {
			return
		}
		if again, _ := json.Marshal(a); string(again) != string(body) {
			t.Errorf("%q is also %q", body, again)
		}
		if a.Hello.check(strings.Repeat("0", 64), "amd64") == nil {
			for _, n := range a.Hello.System {
				if !clean(n.Real) {
					t.Errorf("%q leads to %q", n.Path, n.Real)
				}
			}
		}
		if strings.ContainsFunc(shown(a.Failed), unicode.IsControl) {
			t.Errorf("%q", shown(a.Failed))
		}
	})
}
