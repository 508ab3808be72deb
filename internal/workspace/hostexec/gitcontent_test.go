package hostexec

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var commit = strings.Repeat("0123456789", 4)

var sha1Config = []byte("[core]\n\trepositoryformatversion = 0\n")

// indexOf writes an index of version 2 with entries of these paths.
func indexOf(paths ...string) []byte {
	b := []byte("DIRC\x00\x00\x00\x02")
	b = binary.BigEndian.AppendUint32(b, uint32(len(paths)))
	for _, p := range paths {
		at := len(b)
		b = append(b, make([]byte, 24)...)
		b = binary.BigEndian.AppendUint32(b, 0o100644)
		b = append(b, make([]byte, 12+20)...)
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
		for b = append(b, 0); (len(b)-at)%8 != 0; b = append(b, 0) {
		}
	}
	return append(b, make([]byte, 20)...)
}

// extended adds an extension.
func extended(index []byte, name, data string) []byte {
	at := len(index) - 20
	b := append(bytes.Clone(index[:at]), name...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	return append(append(b, data...), index[at:]...)
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		form    Form
		content string
		fits    bool
	}{
		{FormRef, commit + "\n", true}, {FormRef, "ref: refs/heads/main\n", true}, {FormRef, commit, true},
		{FormRef, "", false}, {FormRef, "[core]\n", false}, {FormRef, "ref: ../x\n", false}, {FormRef, "ref: refs/../../x\n", false},
		{FormRef, "ref: refs/heads/a b\n", false}, {FormRef, commit + "\n[core]\n", false}, {FormRef, "ref: refs/heads/x\n\n[core]", false},
		{FormPackedRefs, "# pack-refs with: peeled fully-peeled sorted \n" + commit + " refs/tags/v1\n^" + commit + "\n", true},
		{FormPackedRefs, "", true}, {FormPackedRefs, commit + " refs/heads/../../config\n", false}, {FormPackedRefs, "[core]\n", false},
		{FormPackedRefs, commit + " HEAD\n", false},
		{FormTodo, "pick 1 a\n# exec b\n\nlabel onto\nmerge -C 1 x\n", true}, {FormTodo, "pick 1 a\nexec make\n", false}, {FormTodo, "x make\n", false},
		{FormTodo, "\texec make\n", false}, {FormTodo, "exec\tmake\n", false},
		{FormEmpty, "", true}, {FormEmpty, commit + "\t../../.ssh/id\x00", false},
		{FormLog, commit + " " + commit + " A U <a@b.test> 1 +0000\tcommit: x\n", true}, {FormLog, "", true}, {FormLog, "[core]\n\tfsmonitor = x\n", false},
		{FormModules, "[submodule \"a\"]\n\tpath = libs/a\n\turl = https://forge.test/a\n\tbranch = main\n", true},
		{FormModules, "[submodule \"a\"]\n\tpath = a\n\turl = ../a.git\n", true}, {FormModules, "[submodule \"a\"]\n\tpath = \"a\r\"\n", false},
		{FormModules, "[submodule \"a\"]\n\tpath = \"a\\b\"\n", false}, {FormModules, "[submodule \"../a\"]\n\tpath = a\n", false},
		{FormModules, "[submodule \"a\"]\n\tpath = .git/hooks\n", false}, {FormModules, "[submodule \"a\"]\n\tpath = ../a\n", false},
		{FormModules, "[submodule \"a\"]\n\tupdate = !sh\n", false}, {FormModules, "[submodule \"a\"]\n\turl = -u\n", false},
		{FormModules, "[submodule \"a\"]\n\turl = ext::sh\n", false}, {FormModules, "[core]\n\tfsmonitor = x\n", false},
		{FormModules, "[submodule \"x/logs/y\"]\n\tpath = a\n", false}, {FormModules, "[submodule \"a\"]\n\tpath = -a\n\turl = ./x\n", false},
		{Form(99), "", false},
	} {
		if err := Fits(c.form, []byte(c.content), nil); (err == nil) != c.fits {
			t.Errorf("form %d, %q: %v", c.form, c.content, err)
		}
	}
}

func TestFitsIndex(t *testing.T) {
	for path, fits := range map[string]bool{
		"a": true, "src/git/hooks/x": true, ".gitignore": true, ".github/x": true, "a/.gitmodules": true,
		".git/hooks/post-checkout": false, ".GIT/config": false, "a/.git/config": false, "../x": false, "/etc/x": false, "a/../../x": false,
		"a//b": false, "./a": false, ".g\u200cit/config": false, "git~1/config": false, ".git./config": false, ".git /config": false,
		".git::$INDEX_ALLOCATION/config": false,
	} {
		if err := Fits(FormIndex, indexOf("0", path), sha1Config); (err == nil) != fits {
			t.Errorf("%q: %v", path, err)
		}
	}
	if Fits(FormIndex, indexOf("a"), nil) == nil || Fits(FormIndex, indexOf("a"), []byte("[extensions]\n\tobjectformat = sha256\n")) == nil {
		t.Error("it fits a repository that reads it otherwise")
	}
	good := indexOf("a", "b/c")
	for _, fine := range [][]byte{
		good, extended(good, "REUC", "a\x000\x000\x000\x00"), extended(good, "IEOT", "\x00\x00\x00\x01\x00\x00\x00\x0c\x00\x00\x00\x02"),
	} {
		if err := Fits(FormIndex, fine, sha1Config); err != nil {
			t.Error(err)
		}
	}
	for name, bad := range map[string][]byte{
		"nothing": nil, "cut": good[:40], "more entries": bytes.Replace(good, []byte{0, 0, 0, 2, 0, 0, 0, 2}, []byte{0, 0, 0, 2, 0, 0, 0, 9}, 1),
		"version 9": bytes.Replace(good, []byte("DIRC\x00\x00\x00\x02"), []byte("DIRC\x00\x00\x00\x09"), 1), "more behind": append(bytes.Clone(good), 1),
		"unknown extension": append(append(bytes.Clone(good[:len(good)-20]), "abcd\x00\x00\x00\x00"...), good[len(good)-20:]...),
		"another length":    bytes.Replace(good, []byte{0, 1, 'a'}, []byte{0, 2, 'a'}, 1),
		"padding":           bytes.Replace(good, []byte{'c', 0, 0}, []byte{'c', 0, 7}, 1),
		"no name":           indexOf("", "a"),
		"end elsewhere":     extended(good, "EOIE", "\x00\x00\x00\x20"+strings.Repeat("x", 20)),
		"blocks elsewhere":  extended(good, "IEOT", "\x00\x00\x00\x01\x00\x00\x00\x20\x00\x00\x00\x02"),
		"too few in blocks": extended(good, "IEOT", "\x00\x00\x00\x01\x00\x00\x00\x0c\x00\x00\x00\x01"),
		"solved conflict":   extended(good, "REUC", "../x\x000\x000\x000\x00"),
		"fewer entries":     bytes.Replace(indexOf("a", ".git/hooks/x"), []byte{0, 0, 0, 2, 0, 0, 0, 2}, []byte{0, 0, 0, 2, 0, 0, 0, 1}, 1),
	} {
		if Fits(FormIndex, bad, sha1Config) == nil {
			t.Errorf("%s fits", name)
		}
	}
}

// TestFitsRealIndexes: every form that git writes is read, and an entry that leads into
// a git directory is found in each.
func TestFitsRealIndexes(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		r := newRepository(t)
		for _, p := range []string{"a/b/c", "a/b/d", "xgit/hooks/post-checkout", "z"} {
			file := filepath.Join(r.tree, p)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(p), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r.git(r.tree, "add", "-A")
		r.git(r.tree, "update-index", "--index-version", version)
		if version == "3" {
			r.git(r.tree, "update-index", "--skip-worktree", "a/b/c")
		}
		if version == "4" { // what large repositories have, and untracked files
			if err := os.WriteFile(filepath.Join(r.tree, "loose"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			r.git(r.tree, "update-index", "--untracked-cache")
			r.git(r.tree, "status")
			r.git(r.tree, "-c", "index.threads=2", "-c", "index.recordEndOfIndexEntries=true", "-c", "index.recordOffsetTable=true", "add", "loose")
		}
		index := r.read(".git/index")
		if err := Fits(FormIndex, index, r.read(".git/config")); err != nil {
			t.Errorf("version %s: %v", version, err)
		}
		if hostile := bytes.Replace(index, []byte("xgit/hooks"), []byte(".git/hooks"), 1); !bytes.Equal(hostile, index) && Fits(FormIndex, hostile, sha1Config) == nil {
			t.Errorf("version %s: an entry in a git directory fits", version)
		}
	}
}

// TestFitsIndexAsGitReads: git finds the next entry by the length in the flags and by
// the width of its own object names, and a table of blocks leads it anywhere.
func TestFitsIndexAsGitReads(t *testing.T) {
	for name, length := range map[string]uint16{"longer": 13, "shorter": 0, "unknown": 0xfff} {
		bad := indexOf("!", "b")
		binary.BigEndian.PutUint16(bad[12+60:], length)
		if Fits(FormIndex, bad, sha1Config) == nil {
			t.Errorf("a length that is %s fits", name)
		}
	}
	r := newRepository(t)
	for _, p := range []string{"a", "b", "c", "d"} {
		if err := os.WriteFile(filepath.Join(r.tree, p), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"2", "4"} {
		r.git(r.tree, "-c", "index.threads=3", "add", "-A")
		r.git(r.tree, "-c", "index.threads=3", "update-index", "--force-write-index", "--index-version", version)
		index := r.read(".git/index")
		at, end := bytes.Index(index, []byte("IEOT")), bytes.Index(index, []byte("EOIE"))
		if at < 0 || end < 0 {
			t.Fatalf("version %s: git wrote no table of blocks", version)
		}
		if err := Fits(FormIndex, index, sha1Config); err != nil {
			t.Errorf("version %s with a table of blocks: %v", version, err)
		}
		for what, where := range map[string]int{"block": at + 8 + 4 + 3, "count": at + 8 + 4 + 7, "end": end + 8 + 3} {
			bad := bytes.Clone(index)
			bad[where] ^= 8
			if Fits(FormIndex, bad, sha1Config) == nil {
				t.Errorf("version %s: another %s fits", version, what)
			}
		}
	}
}

// TestFitsIndexWidth: an index fits only in a repository that reads it so.
func TestFitsIndexWidth(t *testing.T) {
	r := newRepository(t)
	tree := filepath.Join(r.tree, "sub")
	r.git(r.tree, "init", "-q", "--object-format=sha256", tree)
	if err := os.WriteFile(filepath.Join(tree, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.git(tree, "add", "x")
	wide := r.read("sub/.git/index")
	config := r.read("sub/.git/config")
	if err := Fits(FormIndex, wide, config); err != nil {
		t.Error(err)
	}
	if Fits(FormIndex, wide, sha1Config) == nil || Fits(FormIndex, indexOf("a"), config) == nil {
		t.Error("an index of another width fits")
	}
}

// FuzzFits: nothing that is read makes the readers fail, and no index that fits names
// a git directory in full.
func FuzzFits(f *testing.F) {
	f.Add(int(FormIndex), indexOf("a", "b/c"))
	f.Add(int(FormIndex), indexOf(".git/hooks/x"))
	f.Add(int(FormPackedRefs), []byte(commit+" refs/tags/v1\n"))
	f.Add(int(FormModules), []byte("[submodule \"a\"]\n\tpath = a\n"))
	f.Add(int(FormTodo), []byte("pick a\nexec b\n"))
	f.Add(int(FormRef), []byte("ref: refs/heads/x\n"))
	f.Fuzz(func(t *testing.T, form int, content []byte) {
		if Fits(Form(form), content, sha1Config) != nil {
			return
		}
		switch Form(form) {
		case FormRef:
			if bytes.ContainsAny(content, "[]=") {
				t.Errorf("%q is a reference", content)
			}
		case FormTodo:
			if bytes.HasPrefix(content, []byte("exec ")) {
				t.Errorf("%q executes nothing", content)
			}
		}
	})
}

// FuzzShape: no path passes under which git finds settings, hooks or another
// directory, in a git directory of any name.
func FuzzShape(f *testing.F) {
	for _, p := range []string{"HEAD", "objects/ab/" + commit[2:], "logs/refs/heads/config", "refs/heads/hooks/x", "modules/x/logs/y/commondir", "worktrees/w/gitdir", "x/info/attributes"} {
		f.Add(p)
	}
	rules, err := Builtin()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		names := strings.Split(rel, "/")
		last := names[len(names)-1]
		leads := false
		for _, n := range []string{"config", "config.worktree", "commondir", "gitdir"} {
			leads = leads || last == n
		}
		for _, n := range names[:len(names)-1] {
			leads = leads || n == "hooks"
		}
		for _, tree := range []paths{nil, {"bare/HEAD", "bare/objects/", "bare/refs/", ".git/HEAD", ".git/modules/x/HEAD", ".git/modules/x/logs/y/HEAD"}} {
			for _, dir := range []string{".git", "bare"} {
				if v := rules.JudgeIn(tree, dir+"/"+rel, KindFile); leads && !v.Hold && (dir == ".git" || tree != nil) && rel == strings.TrimSpace(rel) {
					t.Fatalf("%q passes: %+v", dir+"/"+rel, v)
				}
			}
		}
	})
}
