package faults

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
)

func TestMain(m *testing.M) { stage.Main(m) }

const (
	project  = stage.Work + "/project"
	stateDir = "/srv/state/ringfence"
)

// environ is what ringfence is launched with.
func environ() []string {
	return append(os.Environ(), "XDG_STATE_HOME=/srv/state", "XDG_CONFIG_HOME=/srv/config", "XDG_RUNTIME_DIR=/srv/run")
}

// build makes a repository to work in, once.
func build(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(project); err == nil {
		return
	}
	for _, dir := range []string{"/srv/state", "/srv/config", "/srv/run", project + "/src"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret.txt", "src/main.txt"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "init", "-q", project)
	cmd.Env = environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
}

// world is everything that a session could leave something in.
type world struct {
	files  map[string]string
	mounts map[string]string
	groups []string
}

// look takes a picture. The state of projects is not in it: it is meant to stay,
// and checkState looks at it.
func look(t *testing.T) world {
	t.Helper()
	w := world{files: map[string]string{}, groups: stage.Groups()}
	for _, root := range []string{"/srv", "/tmp", "/var/tmp", "/dev/shm"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path == stateDir {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			w.files[path] = fmt.Sprintf("inode %d mode %o owner %d links %d size %d modified %v changed %v",
				st.Ino, st.Mode, st.Uid, st.Nlink, st.Size, st.Mtim, st.Ctim)
			if path == "/srv/state" { // its child may come
				w.files[path] = ""
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	w.mounts = mountTable(string(data))
	return w
}

// mountTable reads mountinfo, by mount id.
func mountTable(data string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(data) {
		id, rest, _ := strings.Cut(line, " ")
		out[id] = strings.TrimSpace(rest)
	}
	return out
}

// leftovers lists what is there now and was not before, or is no longer the same.
func (w world) leftovers(t *testing.T) []string {
	t.Helper()
	now := look(t)
	out := append(differ("file", w.files, now.files), differ("mount", w.mounts, now.mounts)...)
	for _, g := range now.groups {
		if !slices.Contains(w.groups, g) {
			out = append(out, "cgroup "+g)
		}
	}
	return append(out, processes()...)
}

func differ(what string, before, after map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[k]; !ok || old != after[k] {
			out = append(out, fmt.Sprintf("%s %q: %s, was %q", what, k, after[k], old))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[k]; !ok {
			out = append(out, fmt.Sprintf("%s %q is gone", what, k))
		}
	}
	return out
}

// stateProblems looks at the projects' state: it holds whole projects only, and
// besides, until the next launch, scratch that is named as such.
func stateProblems(t *testing.T, state string, scratchAllowed bool) []string {
	t.Helper()
	var out []string
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	list := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".new-") && !strings.HasPrefix(e.Name(), file.Temporary) {
				names = append(names, e.Name())
			} else if !scratchAllowed {
				wrong("scratch %s/%s is left", dir, e.Name())
			}
		}
		return names
	}
	for _, top := range list(state) {
		if !slices.Contains([]string{"projects", "journal", "remotes", "sessions", "masks", "scans", "seal", "small"}, top) {
			wrong("state holds %q", top)
		}
	}
	if kept := list(state + "/sessions"); !scratchAllowed && len(kept) > 0 {
		wrong("work of sessions that changed nothing is left: %q", kept)
	}
	for _, name := range list(state + "/journal") {
		if id, kind, ok := strings.Cut(name, "."); !ok || len(id) != 10 || kind != "jsonl" && kind != "head" {
			wrong("journal holds %q", name)
		}
	}
	for _, name := range list(state + "/seal") {
		if !slices.Contains([]string{"key", "register.jsonl", "anchor"}, name) {
			wrong("seal holds %q", name)
		}
	}
	if r, err := journal.Verify(state+"/journal", nil, nil); err != nil || r.Bad() {
		wrong("the journals do not verify: %v, %+v", err, r)
	}
	for _, key := range list(state + "/projects") {
		if raw, err := hex.DecodeString(key); err != nil || len(raw) != 8 {
			wrong("projects holds %q", key)
		}
		parts := list(state + "/projects/" + key)
		if slices.Contains(parts, "tools") { // an empty box, which each session shows
			if box := list(state + "/projects/" + key + "/tools/shown/bin"); len(box) > 1 {
				wrong("project %s has tools %q", key, box)
			}
			parts = slices.DeleteFunc(parts, func(name string) bool { return name == "tools" })
		}
		if !slices.Equal(parts, []string{"aside", "home", "lock", "record"}) {
			wrong("project %s holds %q", key, parts)
		}
	}
	return out
}
