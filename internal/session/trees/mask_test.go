package trees

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// event is what inotify gives, with a length of its own for the name.
func event(wd int32, length int, name string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(wd))
	b = append(b, make([]byte, 8)...) // mask and cookie
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	return append(b, name...)
}

func TestEachEvent(t *testing.T) {
	one := event(1, 16, ".env\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"nothing", nil, "[]"},
		{"one", one, "[1:.env]"},
		{"two", slices.Concat(one, event(7, 4, "a\xff\x00\x00")), "[1:.env 7:a\xff]"},
		{"overflow", event(-1, 0, ""), "[-1:]"},
		{"without a name, then one", slices.Concat(event(2, 0, ""), one), "[2: 1:.env]"},
		{"full name", event(3, 4, "abcd"), "[3:abcd]"},
		{"short head", one[:unix.SizeofInotifyEvent-1], "[]"},
		{"short name", one[:len(one)-1], "[]"},
		{"longer than there is", event(3, 1<<30, "abcd"), "[]"},
		{"negative", event(3, -1, "abcd"), "[]"},
		{"good, then cut", slices.Concat(one, one[:20]), "[1:.env]"},
	} {
		got := []string{}
		eachEvent(c.in, func(e told) { got = append(got, fmt.Sprintf("%d:%s", e.wd, e.name)) })
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %q, want %s", c.name, got, c.want)
		}
	}
}

// TestEachEventReal reads what the kernel writes.
func TestEachEventReal(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	want, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{".env", "a", strings.Repeat("x", 255), "new\nline"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := make([]byte, 64<<10)
	n, err := unix.Read(fd, b)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	eachEvent(b[:n], func(e told) {
		if int(e.wd) != want || e.mask != unix.IN_CLOSE_WRITE {
			t.Errorf("%q: watch %d, want %d; mask %#x", e.name, e.wd, want, e.mask)
		}
		got = append(got, e.name)
	})
	if !slices.Equal(got, names) {
		t.Errorf("got %q, want %q", got, names)
	}
}

func FuzzEachEvent(f *testing.F) {
	f.Add(event(1, 8, ".env\x00\x00\x00\x00"))
	f.Add(event(1, -1, "abc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := 0
		eachEvent(b, func(e told) {
			if strings.ContainsRune(e.name, 0) {
				t.Errorf("name %q", e.name)
			}
			sum += unix.SizeofInotifyEvent + len(e.name)
		})
		if sum > len(b) {
			t.Errorf("%d bytes of %d", sum, len(b))
		}
	})
}

func TestReadMasks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "masks.json")
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"none", `{"asked":"x","paths":[]}`, []string{}},
		{"null", "null", nil},
		{"some", `{"asked":"x","paths":["\".env\"","\"a/.env\"","\"\\xff\""]}`, []string{".env", "a/.env", "\xff"}},
		{"by other rules", `{"asked":"y","paths":["\".env\""]}`, nil},
		{"not quoted", `{"asked":"x","paths":[".env"]}`, nil},
		{"one is bad", `{"asked":"x","paths":["\".env\"","\"","\"ok\""]}`, nil},
		{"out of the tree", `{"asked":"x","paths":["\"../x\""]}`, nil},
		{"absolute", `{"asked":"x","paths":["\"/etc/passwd\""]}`, nil},
		{"other types", `{"asked":"x","paths":["\".env\"",1,{}]}`, nil},
		{"an old list", `["\".env\""]`, nil},
		{"no JSON", "\x00\xff[", nil},
		{"cut", `{"asked":"x","paths":["\".env\""`, nil},
		{"deep", strings.Repeat("[", 100000), nil},
		{"too large", `{"asked":"x","paths":["` + strings.Repeat("x", maxList) + `"]}`, nil},
	} {
		if err := os.WriteFile(file, []byte(c.in), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readMasks(file, "x"); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := readMasks(file+".none", "x"); got != nil {
		t.Errorf("no file: %q", got)
	}
	if got := readMasks(filepath.Dir(file), "x"); got != nil {
		t.Errorf("a directory: %q", got)
	}
}

// TestSavedMasks: what was kept is read again, names of any bytes among it.
func TestSavedMasks(t *testing.T) {
	root := t.TempDir()
	w := maskRoot{path: root, file: filepath.Join(t.TempDir(), "masks", "x.json")}
	m := &masking{masked: map[string]phantom.Kind{}}
	m.save(w)
	if got := readMasks(w.file, ""); got == nil || len(got) != 0 {
		t.Errorf("a tree without secrets is not remembered: %q", got)
	}
	for _, rel := range []string{".env", "a/b/\xff\n\"", "elsewhere"} {
		m.masked[filepath.Join(root, rel)] = "x"
	}
	m.masked["/somewhere/.env"] = "x"
	m.save(w)
	got := readMasks(w.file, "")
	slices.Sort(got)
	if want := []string{".env", "a/b/\xff\n\"", "elsewhere"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestManyEndsSession: where a walk cannot see everything the agent must not go on.
func TestManyEndsSession(t *testing.T) {
	root := t.TempDir()
	for i := range 40 {
		if err := os.Mkdir(filepath.Join(root, fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int{16, 64} {
		run := &runs{}
		o := &lookout{k: &Changes{trees: &Trees{masking: masking{rules: phantom.Builtin()}}, run: run}, at: map[int32]watchedDir{}, again: map[string]pending{}, closed: map[string]bool{}, most: most}
		o.through(root, "", make(chan struct{}))
		if (run.ended != "") != (most < 40) || o.blind {
			t.Errorf("%d: ended %q, blind %v", most, run.ended, o.blind)
		}
	}
}

// TestMovedEarlyEndsSession: a workspace that is moved before it was looked through is seen
// inside, and nobody watches it.
func TestMovedEarlyEndsSession(t *testing.T) {
	for _, moved := range []bool{false, true} {
		root := filepath.Join(t.TempDir(), "project")
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		dir, err := os.Lstat(root)
		if err != nil {
			t.Fatal(err)
		}
		if moved {
			if err := os.Rename(root, root+"2"); err != nil {
				t.Fatal(err)
			}
		}
		run := &runs{}
		roots := []maskRoot{{path: root, dir: dir, file: filepath.Join(t.TempDir(), "list.json")}}
		o := &lookout{k: &Changes{trees: &Trees{masking: masking{rules: phantom.Builtin(), roots: roots}}, run: run}, at: map[int32]watchedDir{}, again: map[string]pending{}, closed: map[string]bool{}}
		o.all(make(chan struct{}))
		if (run.ended != "") != moved {
			t.Errorf("moved %v: ended %q", moved, run.ended)
		}
	}
}

// runs is a session of which only its end is asked: a real one would need a million directories.
type runs struct {
	Running
	ended string
}

func (r *runs) End(why string)           { r.ended = why }
func (r *runs) Record(...journal.Record) {}

// TestMaskList: the list of the next launch has the link by which a file of another name
// was found, and what it leads to.
func TestMaskList(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "settings.txt"), []byte("API_TOKEN=real-secret-1-abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("settings.txt", filepath.Join(root, ".env")); err != nil {
		t.Fatal(err)
	}
	r := maskRoot{path: root, file: filepath.Join(t.TempDir(), "masks", "list.json")}
	m := &masking{rules: phantom.Builtin(), seed: make([]byte, 32), asked: "x", roots: []maskRoot{r}, masked: map[string]phantom.Kind{}}
	p, _, kind, ok := m.phantom(root, ".env")
	if !ok || p != filepath.Join(root, "settings.txt") {
		t.Fatal(p, kind, ok)
	}
	if _, err := m.add(p, kind); err != nil {
		t.Fatal(err)
	}
	m.save(r)
	if got := readMasks(r.file, "x"); !slices.Equal(got, []string{".env", "settings.txt"}) {
		t.Errorf("%q", got)
	}
}
