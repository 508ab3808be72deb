package ssh

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/envelope"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// left is a session here with two layers, and what its machine sealed of them.
type leftHere struct {
	note   *note
	dir    string
	sealed [2][]byte
}

func leaves(t *testing.T) *leftHere {
	t.Helper()
	key, err := envelope.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	l := &leftHere{dir: t.TempDir(), note: &note{Host: "box", Session: "abc", Secret: make([]byte, secretSize), Key: raw}}
	for n := range l.sealed {
		name := []string{"first", "second"}[n]
		there, here := t.TempDir(), filepath.Join(l.dir, name)
		if err := os.Mkdir(here, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{filepath.Join(there, name), filepath.Join(here, "had come")} {
			if err := os.WriteFile(at, []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		l.note.Layers = append(l.note.Layers, []byte(name))
		var b bytes.Buffer
		s, err := envelope.Seal(&b, key.Public(), purpose("abc", n, 2))
		if err == nil {
			err = (&upper.Source{Dir: there}).Send(s, 0, true)
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		l.sealed[n] = b.Bytes()
	}
	return l
}

func (l *leftHere) take(sizes []int64, parts ...[]byte) error {
	_, err := l.note.take(bytes.NewReader(bytes.Join(parts, nil)), l.dir, &left{Sizes: sizes})
	return err
}

func (l *leftHere) has(t *testing.T, names ...string) {
	t.Helper()
	for n, dir := range []string{"first", "second"} {
		entries, err := os.ReadDir(filepath.Join(l.dir, dir))
		if err != nil || len(entries) != 1 || entries[0].Name() != names[n] {
			t.Errorf("%s has %v, %v", dir, entries, err)
		}
	}
	if rest, _ := filepath.Glob(filepath.Join(l.dir, "*.next")); len(rest) > 0 {
		t.Errorf("left beside: %q", rest)
	}
}

// What a machine left takes the place of what had come, all of it or nothing.
func TestTakeLeft(t *testing.T) {
	l := leaves(t)
	a, b := l.sealed[0], l.sealed[1]
	size := func(parts ...[]byte) (out []int64) {
		for _, p := range parts {
			out = append(out, int64(len(p)))
		}
		return out
	}
	for name, err := range map[string]error{
		"one layer":        l.take(size(a), a),
		"three layers":     l.take(size(a, b, b), a, b, b),
		"none":             l.take(nil),
		"in another order": l.take(size(b, a), b, a),
		"one twice":        l.take(size(a, a), a, a),
		"cut":              l.take(size(a, b), a, b[:len(b)-1]),
		"a wrong size":     l.take([]int64{int64(len(a)) - 1, int64(len(b)) + 1}, a, b),
		"too large":        l.take([]int64{1 << 60, 1}, a, b),
		"less than none":   l.take([]int64{-1, 1}, a, b),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	l.has(t, "had come", "had come")
	if err := l.take(size(a, b), a, b); err != nil {
		t.Fatal(err)
	}
	l.has(t, "first", "second")
}

// A machine that answers something else gets nothing removed here.
func TestFetchFromLiar(t *testing.T) {
	l := leaves(t)
	for says, want := range map[string]string{
		frame(answer{State: stateGone}):                                  "nothing of session abc",
		frame(answer{State: "else"}):                                     "nothing of session abc",
		frame(answer{Left: &left{Sizes: []int64{5, 5}}}) + "0123456789":  "cannot be taken",
		frame(answer{Left: &left{Sizes: []int64{5}}}):                    "cannot be taken",
		frame(answer{Failed: "no\x1b[31m"}):                              "box: no",
		frame(`{"state":"gone","left":{"sizes":[1]}}`):                   "two answers",
		frame(`{"left":{"sizes":[1],"more":1}}`):                         "no answer",
		frame(answer{State: stateLives}) + strings.Repeat("\x00", 64):    "could not be ended",
		frame(answer{State: stateLives}) + strings.Repeat("\x00", 64<<8): "could not be ended",
	} {
		p := machineThat(t, "", uname(), frame(answer{Hello: honest(t)})+says, "exec cat >/dev/null")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if _, err := l.note.fetch(ctx, p, l.dir); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", says[:min(len(says), 60)], err)
		}
		cancel()
	}
	l.has(t, "had come", "had come")
}

// A note is read as it was written, and one that leads elsewhere is refused.
func TestNote(t *testing.T) {
	l := leaves(t)
	if err := l.note.write(l.dir); err != nil {
		t.Fatal(err)
	}
	if n, err := readNote(l.dir); err != nil || n.Session != "abc" || len(n.Layers) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	l.note.Layers[1] = []byte("../../elsewhere")
	if err := l.note.write(l.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := readNote(l.dir); err == nil {
		t.Error("a layer outside was taken")
	}
}

// Who loses the way while the machine seals is told to fetch again, not to start the session
// again.
func TestFetchCut(t *testing.T) {
	l := leaves(t)
	p := machineThat(t, "", uname(), frame(answer{Hello: honest(t)}), "exit 1")
	_, err := l.note.fetch(context.Background(), p, l.dir)
	if hint := fault.HintOf(err); err == nil || !strings.Contains(hint, "ringfence attach abc") || strings.Contains(hint, "start") {
		t.Errorf("%v, %q", err, hint)
	}
	l.has(t, "had come", "had come")
}
