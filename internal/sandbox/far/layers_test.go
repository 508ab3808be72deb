package far

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/upper"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// reviewed is a plan with one layer, which lies in a directory of the test.
func reviewed(t *testing.T) (*plan.Plan, string) {
	dir := filepath.Join(t.TempDir(), "upper")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "phantom", "A=phantom\n")
	p := aPlan(0)
	p.Ops = []plan.Op{{Do: plan.DoLayer, Dst: "/w", Src: "/w", Upper: plan.Raw(dir), Work: plan.Raw(dir)}}
	return p, dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// farEnd is one, where there is the name of a directory.
type farEnd = there

// layered starts a sandbox with a layer at a far end that the test plays. answer answers who
// asks for the layer, which begins in a directory of the far end's own.
func layered(t *testing.T, p *plan.Plan, answer func(s *script, there string, from *link.Stream, h link.Overlay)) (*sandbox, string) {
	return layeredOn(t, p, nil, nil, answer)
}

// layeredOn is the same for one with ground below it, and a disk that it asks how it is.
func layeredOn(t *testing.T, p *plan.Plan, on Ground, disk *os.File, answer func(s *script, there string, from *link.Stream, h link.Overlay)) (*sandbox, string) {
	there := t.TempDir()
	play := honest(t, 0, func(s *script) {
		first, err := s.link.Accept()
		if err != nil {
			return
		}
		if err := lay(first, there, "/nowhere"); err != nil {
			t.Error(err)
		}
		s.start()
		go func() { // what the near end says of the agent
			for {
				m, err := link.Receive(s.control)
				if err != nil {
					return
				}
				if m.Kind == link.End {
					s.say(link.Message{Kind: wire.Exit, Status: 9})
				}
			}
		}()
		for {
			from, err := s.link.Accept()
			if err != nil {
				return
			}
			switch h := from.Header().(type) {
			case link.Overlay:
				answer(s, there, from, h)
			case link.Ask:
				(&farEnd{disk: disk}).answer(from, h)
			}
		}
	})
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	h := rung.Hooks{Stdio: rung.Stdio{In: null, Out: null, Err: null, Stopped: func() {}}, Net: func(rung.Net) error { return nil }}
	box, err := Rung{forged{play: play, ground: on}}.Start(t.Context(), p, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box.(*sandbox), there
}

// asItIs answers as an honest far end does.
func asItIs() func(*script, string, *link.Stream, link.Overlay) {
	far := &there{layers: []*layerThere{{}}}
	return func(_ *script, dir string, from *link.Stream, h link.Overlay) {
		far.layers[0].source.Dir = dir
		far.overlay(from, h)
	}
}

// TestLayerComesBack: what the launch put into a layer is at the far end, and what the
// far end has comes back, while the agent runs and at the end.
func TestLayerComesBack(t *testing.T) {
	p, here := reviewed(t)
	box, there := layered(t, p, asItIs())
	if got := read(there, "phantom"); got != "A=phantom\n" {
		t.Errorf("it begins with %q", got)
	}
	write(t, there, "made", "one")
	if err := box.Sync(); err != nil || read(here, "made") != "one" || read(here, "phantom") != "A=phantom\n" {
		t.Errorf("%v, %q", err, read(here, "made"))
	}
	write(t, there, "made", "two")
	os.Remove(filepath.Join(there, "phantom"))
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if exit, err := over(t, box); err != nil || exit.Code() != 128+9 {
		t.Errorf("%+v, %v", exit, err)
	}
	if read(here, "made") != "two" || !strings.Contains(read(here, "phantom"), "no such file") {
		t.Errorf("at the end: %q, %q", read(here, "made"), read(here, "phantom"))
	}
	if st, err := os.Stat(here); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("the root of the layer: %v, %v", st.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(here)); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
}

// TestEmptied: what a far end takes away again is kept, however it does so, and the person is
// told. What it makes in place of that waits beside it.
func TestEmptied(t *testing.T) {
	for name, c := range map[string]struct {
		then []int // files that are left, one generation after the other
		left int   // at the end
		want int   // of what is kept
	}{
		"all at the end":        {[]int{0}, 8, 0},
		"all, and then again":   {[]int{0, 0, 0}, 8, 0},
		"bit by bit":            {[]int{6, 4, 3, 2, 1}, 1, 7},
		"most":                  {[]int{2}, 2, 6},
		"a little":              {[]int{7}, 7, 1},
		"most, and some return": {[]int{2, 7}, 7, 1},
		"most, and all return":  {[]int{2, 8}, 8, 0},
	} {
		p, here := reviewed(t)
		os.Remove(filepath.Join(here, "phantom"))
		box, there := layered(t, p, asItIs())
		var told []string
		box.hooks.Warn = func(text string) { told = append(told, text) }
		for _, n := range append([]int{8}, c.then...) {
			for i := range 8 {
				os.Remove(filepath.Join(there, fmt.Sprint(i)))
			}
			for i := range n {
				write(t, there, fmt.Sprint(i), "x")
			}
			if err := box.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		box.Close()
		if entries(here) != c.left || entries(here+".before") != c.want || (len(told) == 1) != (c.want > 0 || c.left != c.then[len(c.then)-1]) {
			t.Errorf("%s: %d files, and %d of before; the person hears %q", name, entries(here), entries(here+".before"), told)
		}
	}
}

// TestFarEndDies: what had been brought over is still there, and the person hears since when
// the rest is lost.
func TestFarEndDies(t *testing.T) {
	p, here := reviewed(t)
	honest, calls := asItIs(), 0
	box, there := layered(t, p, func(s *script, there string, from *link.Stream, h link.Overlay) {
		if calls++; calls == 1 {
			honest(s, there, from, h)
			return
		}
		var b bytes.Buffer
		(&upper.Source{Dir: there}).Send(&b, 0, true)
		from.Write(b.Bytes()[:b.Len()/2])
		s.link.Close()
	})
	write(t, there, "made", "one")
	if err := box.Sync(); err != nil {
		t.Fatal(err)
	}
	write(t, there, "made", strings.Repeat("two", 1000))
	if err := box.Sync(); err == nil {
		t.Error("half a layer was taken for one")
	}
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") || !strings.Contains(err.Error(), "after") {
		t.Errorf("%v", err)
	}
	if read(here, "made") != "one" {
		t.Errorf("%q", read(here, "made"))
	}
}

// TestForgedLayer: a layer that is none ends the link, and what was there before stays.
func TestForgedLayer(t *testing.T) {
	for name, stream := range map[string]string{
		"garbage":    strings.Repeat("GET / HTTP/1.1\r\n", 10),
		"nothing":    "",
		"as it was":  "rfupper\x01=",
		"a way out":  "rfupper\x01f\x0b../outside\x00\x01\x80\x00",
		"cut":        "rfupper\x01d\x01a",
		"no version": "rfupper\x00e\x00\x00\x00\x00",
	} {
		p, here := reviewed(t)
		box, _ := layered(t, p, func(_ *script, _ string, from *link.Stream, _ link.Overlay) {
			from.Write([]byte(stream))
			from.Close()
		})
		if err := box.Sync(); err == nil || box.link.Err() == nil {
			t.Errorf("%s: %v, and the link goes on", name, err)
		}
		if _, err := over(t, box); err == nil {
			t.Errorf("%s: the session ends as if nothing were", name)
		}
		if left, _ := os.ReadDir(filepath.Dir(here)); len(left) != 1 || read(here, "phantom") != "A=phantom\n" {
			t.Errorf("%s: %v, %q", name, left, read(here, "phantom"))
		}
	}
}

// TestPace: whatever a far end sends, and however slowly, its layer has an end; a fast one has
// the time that it needs.
func TestPace(t *testing.T) {
	for _, c := range []struct{ got, least, most int64 }{
		{0, 60, 60}, {64 << 20, 60 + 1024, 60 + 1024}, {16 << 30, 3600, 3600}, {1 << 48, 3600, 3600},
	} {
		began := time.Now()
		after := int64((&paced{began: began, got: c.got, breaks: new(breaks)}).due().Sub(began) / time.Second)
		if after < c.least || after > c.most {
			t.Errorf("%+v: it is waited for %d s", c, after)
		}
	}
}

// TestPaceOfBroken: while the way is broken nobody is late, and not for ever.
func TestPaceOfBroken(t *testing.T) {
	b := &breaks{total: time.Hour}
	late := &paced{began: time.Now().Add(-2 * time.Minute), breaks: b, before: time.Hour}
	if !late.due().Before(time.Now()) {
		t.Error("one that is late has time")
	}
	b.begin()
	if !late.due().After(time.Now()) {
		t.Error("it is late although nothing can come")
	}
	b.since = time.Now().Add(-time.Hour)
	late.began = time.Now().Add(-3 * time.Hour)
	if !late.due().Before(time.Now()) {
		t.Error("it has time for ever")
	}
	b.since = time.Now().Add(-5 * time.Minute)
	b.end()
	late.began = time.Now().Add(-4 * time.Minute)
	if !late.due().After(time.Now()) {
		t.Error("what it could not use is not given back")
	}
}

// TestCut: who does not wait for the rest of a layer cuts it off.
func TestCut(t *testing.T) {
	p, here := reviewed(t)
	asked := make(chan struct{}, 8)
	box, _ := layered(t, p, func(_ *script, _ string, _ *link.Stream, _ link.Overlay) { asked <- struct{}{} }) // and nothing comes
	done := make(chan struct{})
	go func() { box.Close(); close(done) }()
	<-asked
	box.Cut()
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("%v", err)
	}
	<-done
	if read(here, "phantom") != "A=phantom\n" {
		t.Errorf("%q", read(here, "phantom"))
	}
}

// TestUnreadableLayer: a far end that cannot read its layer says so; the session goes on.
func TestUnreadableLayer(t *testing.T) {
	p, _ := reviewed(t)
	box, _ := layered(t, p, func(_ *script, _ string, from *link.Stream, _ link.Overlay) { from.Reset(link.Failed) })
	if err := box.Sync(); err == nil || box.link.Err() != nil {
		t.Errorf("%v, %v", err, box.link.Err())
	}
	box.Close()
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("%v", err)
	}
}

// TestWillNotEnd: a far end that was told to end and does not is cut off, and its network is
// gone before.
func TestWillNotEnd(t *testing.T) {
	p, _ := reviewed(t)
	taken := make(chan rung.Net, 1)
	there := t.TempDir()
	play := honest(t, 0, func(s *script) {
		first, _ := s.link.Accept()
		lay(first, there, "/nowhere")
		s.start()
		for { // it hears everything, and does nothing
			if m, err := link.Receive(s.control); err != nil || m.Kind == link.End {
				break
			}
		}
		c, err := s.link.Open(link.Conn{Port: "tcp", From: here, To: here})
		if err == nil {
			_, err = c.Read(make([]byte, 1))
		}
		if err == nil {
			t.Error("it still has a network")
		}
		<-s.link.Done()
	})
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	defer null.Close()
	h := rung.Hooks{Stdio: rung.Stdio{In: null, Out: null, Err: null, Stopped: func() {}}, Net: func(n rung.Net) error { taken <- n; return nil }}
	box, err := Rung{forged{play: play}}.Start(t.Context(), p, h)
	if err != nil {
		t.Fatal(err)
	}
	listen := (<-taken).Ports()[0].Listen
	defer listen.Close()
	done := make(chan struct{})
	go func() { box.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * leaves):
		t.Fatal("it is waited for")
	}
}
