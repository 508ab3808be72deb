package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// rest reads on to the end.
func rest(t testing.TB, r *Reader) (records []Record, bad []*BadLine) {
	t.Helper()
	for rec, err := range r.All() {
		var line *BadLine
		switch {
		case errors.As(err, &line):
			bad = append(bad, line)
		case err != nil:
			t.Fatal(err)
		default:
			records = append(records, rec)
		}
	}
	return records, bad
}

const sound = `{"v":1,"seq":1,"time":"2026-03-04T11:00:00.123Z","session":"0123456789","kind":"net","event":"gate"}`

func TestBadLines(t *testing.T) {
	change := func(from, to string) string { return strings.Replace(sound, from, to, 1) }
	tests := map[string]struct {
		line string
		want error // nil: any
	}{
		"empty":           {"", nil},
		"garbage":         {"garbage", nil},
		"half":            {sound[:50], nil},
		"another version": {`{"v":3,"seq":1,"new":true}`, ErrVersion},
		"no hash":         {change(`"v":1`, `"v":2`), errForm},
		"hash in old":     {change(`"kind"`, `"prev":"`+strings.Repeat("0", 64)+`","kind"`), errForm},
		"empty list":      {change(`"gate"`, `"gate","list":[]`), nil},
		"list of numbers": {change(`"gate"`, `"gate","list":[1]`), nil},
		"long list":       {change(`"gate"`, `"gate","list":["`+strings.Repeat("n", maxName)+`","`+strings.Repeat("n", maxName)+`"]`), nil},
		"no version":      {change(`"v":1,`, ``), errForm},
		"another kind":    {change(`"net"`, `"file"`), errForm},
		"another session": {change("0123456789", "0123456788"), nil},
		"unknown field":   {change(`"gate"`, `"gate","x":1`), nil},
		"another case":    {change(`"event"`, `"Event"`), errForm},
		"a key twice":     {change(`"gate"`, `"gate","event":"gate"`), errForm},
		"order":           {change(`"seq":1,`, ``)[:len(sound)-9] + `,"seq":1}`, errForm},
		"spaces":          {change(`"kind":`, `"kind": `), errForm},
		"two values":      {sound + sound, errForm},
		"text after it":   {sound + "x", errForm},
		"missing field":   {change(`,"event":"gate"`, ``), errForm},
		"empty field":     {change(`"gate"`, `"gate","name":""`), errForm},
		"time zone":       {change("Z", "+01:00"), errForm},
		"no milliseconds": {change(".123Z", "Z"), errForm},
		"no time":         {change("2026-03-04T11:00:00.123Z", "now"), nil},
		"end, no bytes":   {change(`"gate"`, `"end"`), errForm},
		"negative bytes":  {change(`"gate"`, `"end","sent":-1,"received":0`), errForm},
		"port":            {change(`"gate"`, `"gate","port":65536`), nil},
		"plain escape":    {change(`"gate"`, `"gate","name":"é"`), errForm},
		"lone surrogate":  {change(`"gate"`, `"gate","name":"\ud800"`), errForm},
		"needless escape": {change(`"gate"`, `"gate","name":"\u0041"`), errForm},
		"control":         {change(`"gate"`, "\"gate\",\"name\":\"\x1b\""), nil},
		"long string":     {change(`"gate"`, `"gate","name":"`+strings.Repeat("n", 301)+`"`), errForm},
		"longest line":    {strings.Repeat("x", maxLine), nil},
		"long line":       {strings.Repeat("x", maxLine+1), errLong},
		"longer line":     {strings.Repeat("x", 2*maxLine), errLong},
		"longest of all":  {strings.Repeat("x", 9*maxLine), errLong},
		"deep":            {strings.Repeat("[", maxLine), nil},
	}
	dir := t.TempDir()
	path := filepath.Join(dir, session+suffix)
	for name, tt := range tests {
		text := sound + "\n" + tt.line + "\n" + sound + "\n" + sound + "\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		records, bad := all(t, dir, session)
		if len(records) != 3 || len(bad) != 1 || bad[0].Line != 2 || tt.want != nil && !errors.Is(bad[0], tt.want) {
			t.Errorf("%s: %d records, bad lines %v", name, len(records), bad)
		}
	}
}

// TestTail: half a line at the end is not an end while its writer lives, and may
// be replaced by another; after that it is torn.
func TestTail(t *testing.T) {
	w, dir := create(t, session)
	write(t, w, Record{Event: "first"})
	r, err := Open(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	end := w.size
	if _, err := unix.Write(w.file, []byte(`{"v":1,"seq":2,`)); err != nil {
		t.Fatal(err)
	}
	if records, bad := rest(t, r); len(records) != 1 || len(bad) != 0 {
		t.Fatalf("%v, %v", records, bad)
	}
	if err := unix.Ftruncate(w.file, end); err != nil {
		t.Fatal(err)
	}
	write(t, w, Record{Event: "second", Name: "longer than what was cut off"})
	if records, bad := rest(t, r); len(records) != 1 || records[0].Event != "second" || len(bad) != 0 {
		t.Fatalf("%v, %v", records, bad)
	}
	if _, err := unix.Write(w.file, []byte(`{"v":1,"seq":3,`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if records, bad := rest(t, r); len(records) != 0 || len(bad) != 1 || bad[0].Line != 3 || !errors.Is(bad[0], errTorn) {
		t.Fatalf("%v, %v", records, bad)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after a torn end: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, session); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
	if _, err := Open(dir+"/none", session); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	victim := filepath.Join(t.TempDir(), session+suffix)
	if err := os.WriteFile(victim, []byte(sound+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, session+suffix)
	for what, plant := range map[string]func() error{
		"symlink":   func() error { return os.Symlink(victim, path) },
		"fifo":      func() error { return unix.Mkfifo(path, 0o600) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, session); err == nil {
			t.Errorf("%s was opened", what)
		}
		if list, err := List(dir); err != nil || len(list) != 0 {
			t.Errorf("%s was listed: %v, %v", what, list, err)
		}
		if err := Remove(dir, session); err == nil {
			t.Errorf("%s was removed", what)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// follow collects what Follow yields; each is sent to heard as it comes.
func follow(t *testing.T, ctx context.Context, dir string) (heard chan string, done chan struct{}) {
	t.Helper()
	r, err := Open(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	heard, done = make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		defer r.Close()
		for rec, err := range r.Follow(ctx) {
			if err != nil {
				heard <- err.Error()
				continue
			}
			heard <- rec.Event + " " + rec.Name
		}
	}()
	return heard, done
}

func expect[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(wait.Patience):
		t.Fatal("nothing came: " + what)
	}
	return v
}

func TestFollow(t *testing.T) {
	ends := map[string]func(w *Writer, cancel func()) error{
		"ended":       func(w *Writer, cancel func()) error { return w.Write(Record{Kind: Session, Event: Exit}) },
		"writer gone": func(w *Writer, cancel func()) error { return w.Close() },
		"cancelled":   func(w *Writer, cancel func()) error { cancel(); return nil },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, dir := create(t, session)
			write(t, w, Record{Event: Gate, State: Opened})
			heard, done := follow(t, ctx, dir)
			if got := expect(t, heard, "the first"); got != "gate " {
				t.Errorf("got %q", got)
			}
			for i := range 2 {
				write(t, w, Record{Event: Decision, Name: fmt.Sprint(i)})
				if got := expect(t, heard, "a record"); got != fmt.Sprint("decision ", i) {
					t.Errorf("got %q", got)
				}
			}
			if _, err := unix.Write(w.file, []byte("garbage\n")); err != nil {
				t.Fatal(err)
			}
			if got := expect(t, heard, "the bad line"); !strings.HasPrefix(got, "line 4: ") {
				t.Errorf("got %q", got)
			}
			if err := end(w, cancel); err != nil {
				t.Fatal(err)
			}
			expect(t, done, "the end")
		})
	}
}
