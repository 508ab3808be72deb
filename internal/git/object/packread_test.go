package object_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/git/object"
)

// part is an object of a hand-made pack.
type part struct {
	kind byte
	data string
	ref  object.ID // base of kind 7
	back int64     // base of kind 6
	size int       // said, if not the true one
}

func (p part) bytes() []byte {
	size := p.size
	if size == 0 {
		size = len(p.data)
	}
	var out []byte
	c := p.kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		out = append(out, c|0x80)
		c = byte(size & 0x7f)
	}
	out = append(out, c)
	switch p.kind {
	case 7:
		out = append(out, p.ref.Bytes()...)
	case 6:
		var tail []byte
		for n := p.back; ; {
			tail = append(tail, byte(n&0x7f))
			if n >>= 7; n == 0 {
				break
			}
			n--
		}
		slices.Reverse(tail)
		for i := range tail[:len(tail)-1] {
			tail[i] |= 0x80
		}
		out = append(out, tail...)
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write([]byte(p.data))
	w.Close()
	return append(out, z.Bytes()...)
}

func head(n int) []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(n))
}

// seal puts the right checksum behind a pack.
func seal(body []byte) []byte {
	sum := sha1.Sum(body)
	return append(slices.Clip(body), sum[:]...)
}

func build(parts ...part) []byte {
	body := head(len(parts))
	for _, p := range parts {
		body = append(body, p.bytes()...)
	}
	return seal(body)
}

// insert is a delta that throws its base away.
func insert(base, result string) string {
	return string([]byte{byte(len(base)), byte(len(result)), byte(len(result))}) + result
}

type seen map[object.ID]object.Type

func read(t testing.TB, b []byte, lim object.PackLimits) (*object.Pack, seen, error) {
	t.Helper()
	got := seen{}
	p, err := object.ReadPack(context.Background(), bytes.NewReader(b), int64(len(b)), lim, func(id object.ID, kind object.Type, data []byte) error {
		if object.Sum(kind, data) != id {
			t.Errorf("%v %v has another name", kind, id)
		}
		got[id] = kind
		return nil
	})
	return p, got, err
}

func git(t testing.TB, dir, stdin string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.test")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, &stderr)
	}
	return out
}

// repository has thirty commits of many files in directories, so that git makes
// deltas of trees, and an annotated tag.
func repository(t testing.TB) string {
	dir := t.TempDir()
	git(t, dir, "", "init", "-q", "-b", "main")
	for i := range 30 {
		for j := range 40 {
			name := filepath.Join(dir, fmt.Sprintf("d%d", j%4), fmt.Sprintf("file-with-a-name-%d", j))
			os.MkdirAll(filepath.Dir(name), 0o700)
			if i == 0 || j == i {
				os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("%d of %d\n", i, j), 100)), 0o600)
			}
		}
		git(t, dir, "", "add", "-A")
		git(t, dir, "", "commit", "-q", "-m", fmt.Sprint("change ", i))
	}
	git(t, dir, "", "tag", "-a", "-m", "a tag", "v1")
	return dir
}

// truth is what git says is there: everything but blobs.
func truth(t testing.TB, dir string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(git(t, dir, "", "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"))) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind != "blob" {
			out[id] = kind
		}
	}
	return out
}

func spell(s seen) map[string]string {
	out := map[string]string{}
	for id, k := range s {
		out[id.String()] = string(k)
	}
	return out
}

func TestReadWhatGitPacks(t *testing.T) {
	dir := repository(t)
	want := truth(t, dir)
	for what, args := range map[string][]string{
		"by offset": {"--delta-base-offset"}, "by name": nil, "deep": {"--depth=4000", "--window=200"}, "no deltas": {"--depth=0"},
	} {
		t.Run(what, func(t *testing.T) {
			b := git(t, dir, "", append([]string{"pack-objects", "--all", "--stdout", "-q", "--no-reuse-delta"}, args...)...)
			p, got, err := read(t, b, object.UsualLimits())
			if err != nil || !maps.Equal(spell(got), want) {
				t.Fatalf("%v: got %d objects, git has %d", err, len(got), len(want))
			}
			for _, id := range p.Missing() {
				// Blobs that are deltas are not rebuilt, so what stands on them waits.
				if what == "by offset" || want[id.String()] != "" {
					t.Errorf("%v is said to be missing", id)
				}
			}
		})
	}
}

func TestThinPackTakesItsBases(t *testing.T) {
	dir := repository(t)
	want := truth(t, dir)
	b := git(t, dir, "main\n^main~5\n", "pack-objects", "--revs", "--thin", "--stdout", "-q", "--delta-base-offset", "--no-reuse-delta", "--window=50")
	p, got, err := read(t, b, object.UsualLimits())
	if err != nil {
		t.Fatal(err)
	}
	before, added := len(got), 0
	for _, id := range p.Missing() {
		kind := want[id.String()]
		if kind == "" {
			continue
		}
		added++
		data := git(t, dir, "", "cat-file", kind, id.String())
		k := map[string]object.Type{"commit": object.Commit, "tree": object.Tree, "tag": object.Tag}[kind]
		if err := p.Add(k, data); err != nil {
			t.Fatal(err)
		}
		if err := p.Add(k, data); err != nil { // a second time it means nothing
			t.Fatal(err)
		}
	}
	if added == 0 {
		t.Fatal("git made no thin delta of a tree: the test shows nothing")
	}
	for line := range strings.Lines(string(git(t, dir, "", "rev-list", "--objects", "--filter=blob:none", "main", "^main~5"))) {
		id, err := object.ParseSHA1(line[:40])
		if err != nil || got[id] == "" {
			t.Errorf("%s was not rebuilt (%v); %d before the bases came, %d after", line[:40], err, before, len(got))
		}
	}
}

const someTree = "100644 a\x00aaaaaaaaaaaaaaaaaaaa"

func TestReadRefuses(t *testing.T) {
	tree := part{kind: 2, data: someTree}
	base := object.Sum(object.Tree, []byte(someTree))
	good := build(tree)
	small := object.UsualLimits()
	small.Objects, small.Object, small.Work = 2, 100, 1000
	flip := bytes.Clone(good)
	flip[len(flip)-1] ^= 1
	body := good[:len(good)-20]
	for what, c := range map[string]struct {
		in   []byte
		want string
	}{
		"nothing":              {nil, "pack of 0 bytes"},
		"short":                {good[:31], "pack of 31 bytes"},
		"another magic":        {seal(append([]byte("pack"), body[4:]...)), "no pack of version 2"},
		"version 3":            {seal(append([]byte("PACK\x00\x00\x00\x03"), body[8:]...)), "no pack of version 2"},
		"wrong checksum":       {flip, "checksum is wrong"},
		"cut":                  {seal(body[:len(body)-1]), "cut short"},
		"bytes behind":         {seal(append(slices.Clip(body), 0)), "1 bytes after its last object"},
		"count too high":       {seal(append(head(2), body[12:]...)), "cut short"},
		"count too low":        {seal(append(head(0), body[12:]...)), "after its last object"},
		"count beyond bytes":   {seal(append(head(1<<31), body[12:]...)), "objects are the most"},
		"too many objects":     {build(tree, tree, tree), "2 objects are the most"},
		"type 0":               {build(part{kind: 0, data: "x"}), "type 0"},
		"type 5":               {build(part{kind: 5, data: "x"}), "type 5"},
		"says less":            {build(part{kind: 2, data: someTree, size: 5}), "longer than the 5 bytes"},
		"says more":            {build(part{kind: 2, data: someTree, size: 99}), "names 99"},
		"blob says less":       {build(part{kind: 3, data: "xyz", size: 1}), "longer than the 1 bytes"},
		"large tree":           {build(part{kind: 2, data: strings.Repeat("x", 101)}), "100 are the most"},
		"large size alone":     {build(part{kind: 1, data: "x", size: 1 << 38}), "100 are the most"},
		"endless size":         {seal(append(head(1), bytes.Repeat([]byte{0xff}, 30)...)), "too many digits"},
		"zlib bomb":            {build(part{kind: 3, data: strings.Repeat("x", 5000)}), "bytes of work"},
		"not zlib":             {seal(append(head(1), 0x21, 'x', 'y', 'z')), "does not inflate"},
		"offset to nowhere":    {build(tree, part{kind: 6, back: 3, data: insert(someTree, "x")}), "stands on no object"},
		"offset to itself":     {build(tree, part{kind: 6, back: 0, data: insert(someTree, "x")}), "stands on no object"},
		"offset before all":    {build(tree, part{kind: 6, back: 1 << 40, data: insert(someTree, "x")}), "stands on no object"},
		"delta for other base": {build(tree, part{kind: 7, ref: base, data: insert("x", "y")}), "delta for a base of 1 bytes"},
		"delta copies past":    {build(tree, part{kind: 7, ref: base, data: string([]byte{byte(len(someTree)), 2, 0x91, 28, 2})}), "past the end"},
		"delta instruction 0":  {build(tree, part{kind: 7, ref: base, data: string([]byte{byte(len(someTree)), 1, 0})}), "instruction 0"},
		"delta makes less":     {build(tree, part{kind: 7, ref: base, data: string([]byte{byte(len(someTree)), 2, 1, 'x'})}), "makes 1 bytes and names 2"},
		"delta makes more":     {build(tree, part{kind: 7, ref: base, data: string([]byte{byte(len(someTree)), 1, 2, 'x', 'y'})}), "more than the 1 bytes"},
		"delta cut":            {build(tree, part{kind: 7, ref: base, data: string([]byte{byte(len(someTree)), 9, 9, 'x'})}), "delta that is cut short"},
		"delta result large":   {build(tree, part{kind: 7, ref: base, data: string([]byte{byte(len(someTree)), 0xff, 0x7f, 1, 'x'})}), "100 are the most"},
		"delta of no size":     {build(tree, part{kind: 7, ref: base, data: "\x80"}), "delta without a size"},
	} {
		t.Run(what, func(t *testing.T) {
			_, _, err := read(t, c.in, small)
			if !errors.Is(err, object.ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	// Each object has two on it, and so stays until the second.
	parts := []part{{kind: 2, data: strings.Repeat("x", 90)}}
	base := parts[0].data
	for i := range 40 {
		result := fmt.Sprintf("%090d", i)
		id := object.Sum(object.Tree, []byte(base))
		parts = append(parts, part{kind: 7, ref: id, data: insert(base, "leaf")}, part{kind: 7, ref: id, data: insert(base, result)})
		base = result
	}
	slices.Reverse(parts[1:])
	lim := object.UsualLimits()
	if _, got, err := read(t, build(parts...), lim); err != nil || len(got) != 42 {
		t.Fatalf("%d objects, %v", len(got), err)
	}
	lim.Memory = 300
	if _, _, err := read(t, build(parts...), lim); err == nil || !strings.Contains(err.Error(), "at once") {
		t.Fatal(err)
	}
}

func TestEndOfContextEndsReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := build(part{kind: 2, data: someTree})
	if _, err := object.ReadPack(ctx, bytes.NewReader(b), int64(len(b)), object.UsualLimits(), nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
