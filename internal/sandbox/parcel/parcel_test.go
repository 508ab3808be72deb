package parcel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

const key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func put(t *testing.T, at, data string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(data), 0o600), os.Chmod(at, mode)); err != nil {
		t.Fatal(err)
	}
}

// planned is a plan that shows a tree with everything that may cover something in it.
func planned(t *testing.T) (p *plan.Plan, root string) {
	root = filepath.Join(t.TempDir(), "w")
	upper := filepath.Join(t.TempDir(), "upper")
	state := filepath.Join(t.TempDir(), "state")
	hidden := filepath.Join(t.TempDir(), "hidden")
	for name, data := range map[string]string{"plain": "shown", "sub/deep": "shown too", "empty": "", "masked": "SECRET-1", "maskdir/in": "SECRET-2",
		"filed": "SECRET-3", "laid": "SECRET-4", "opaque/in": "SECRET-5", "mounted/in": "SECRET-6", "sub/copy": "shown"} {
		put(t, filepath.Join(root, name), data, 0o640)
	}
	put(t, filepath.Join(root, "run.sh"), "#!/bin/sh", 0o755)
	put(t, filepath.Join(upper, "laid"), "a phantom", 0o644)
	put(t, filepath.Join(upper, "sub", "other"), "", 0o644)
	put(t, filepath.Join(state, "conversation"), "SECRET-7", 0o644)
	put(t, filepath.Join(state, "settings.json"), "SECRET-8", 0o644)
	put(t, hidden, "SECRET-9", 0o644)
	if err := errors.Join(os.Symlink("plain", filepath.Join(root, "link")), os.Mkdir(filepath.Join(upper, "opaque"), 0o755),
		unix.Mkfifo(filepath.Join(root, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(filepath.Join(upper, "opaque"), "user.overlay.opaque", []byte("y"), 0); err != nil {
		os.Remove(filepath.Join(upper, "opaque")) // no file system for that: then it is no layer's either
		put(t, filepath.Join(upper, "opaque"), "", 0o644)
	}
	at := func(name string) plan.Raw { return plan.Raw("/w/" + name) }
	return &plan.Plan{Ops: []plan.Op{
		{Do: plan.DoBind, Dst: "/usr", Src: "/usr", There: true},
		{Do: plan.DoLayer, Dst: "/w", Src: plan.Raw(root), Upper: plan.Raw(upper), Work: "/nowhere"},
		{Do: plan.DoBind, Dst: at("mounted"), Src: plan.Raw(filepath.Join(root, "sub"))},
		{Do: plan.DoBind, Dst: "/home/u/.agent", Src: plan.Raw(state), Write: true},
		{Do: plan.DoBind, Dst: "/home/u/hidden", Src: plan.Raw(hidden)},
		{Do: plan.DoBind, Dst: "/bin/self", Src: "/proc/self/exe"},
		{Do: plan.DoFile, Dst: at("filed"), Data: []byte("a phantom")},
		{Do: plan.DoFile, Dst: "/home/u/.agent/settings.json", Data: []byte("ours")},
		{Do: plan.DoMask, Dst: at("masked")}, {Do: plan.DoMask, Dst: at("maskdir")}, {Do: plan.DoMask, Dst: "/home/u/hidden"},
		{Do: plan.DoReadOnly, Dst: "/"},
	}}, root
}

// carry sends a plan's parcel to a store, over what would be a link, and returns what was sent.
func carry(t *testing.T, p *plan.Plan, store, dir string) (sent []byte, out *plan.Plan) {
	t.Helper()
	box, err := Pack(context.Background(), p, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(box.List)
	if err != nil {
		t.Fatal(err)
	}
	var list List
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	u, err := Arrive(&list, store)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	var contents bytes.Buffer
	n, err := box.Send(&contents, u.Needs())
	if err != nil || n != int64(contents.Len()) {
		t.Fatal(n, err)
	}
	sent = contents.Bytes()
	if err := u.Take(&contents, dir); err != nil {
		t.Fatal(err)
	}
	return append(body, sent...), box.Plan(p, dir, "/there/self")
}

// TestWhatIsCoveredStays: no byte of what something covers leaves, and the names that covers
// need are there.
func TestWhatIsCoveredStays(t *testing.T) {
	p, _ := planned(t)
	dir := t.TempDir()
	sent, there := carry(t, p, t.TempDir(), dir)
	if bytes.Contains(sent, []byte("SECRET")) || !bytes.Contains(sent, []byte("shown too")) {
		t.Errorf("sent %q", sent)
	}
	root := string(there.Ops[1].Src)
	for name, want := range map[string]string{"plain": "shown", "sub/deep": "shown too", "empty": "", "masked": "", "filed": "", "laid": "", "sub/copy": "shown", "link": "shown", "run.sh": "#!/bin/sh"} {
		if b, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"maskdir", "mounted"} {
		if left, err := os.ReadDir(filepath.Join(root, name)); err != nil || len(left) > 0 {
			t.Errorf("%s has %v, %v", name, left, err)
		}
	}
	if st, err := os.Stat(filepath.Join(root, "run.sh")); err != nil || st.Mode().Perm() != 0o755 {
		t.Error("a mode is lost")
	}
	if _, err := os.Lstat(filepath.Join(root, "pipe")); err == nil {
		t.Error("a pipe was sent")
	}
	if left, _ := os.ReadDir(string(there.Ops[3].Src)); len(left) != 1 || left[0].Name() != "settings.json" {
		t.Errorf("of what is private %v was sent", left)
	}
	for i, o := range there.Ops {
		if carried(&o) || i == 5 && o.Src != "/there/self" || o.There && strings.HasPrefix(string(o.Src), filepath.Dir(filepath.Dir(root))) && o.ID != nil {
			t.Errorf("operation %d is still of this machine: %+v", i, o)
		}
	}
}

// TestDifferencesOnly: what the store has is not sent, and what somebody changed in it is.
func TestDifferencesOnly(t *testing.T) {
	p, root := planned(t)
	store := t.TempDir()
	size := func() int64 {
		box, err := Pack(context.Background(), p, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := Arrive(&box.List, store)
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		var sink bytes.Buffer
		n, err := box.Send(&sink, u.Needs())
		if err == nil {
			err = u.Take(&sink, t.TempDir())
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := size(); n == 0 {
		t.Error("nothing was sent")
	}
	if n := size(); n != 0 {
		t.Errorf("%d bytes were sent again", n)
	}
	put(t, filepath.Join(root, "plain"), "changed", 0o644)
	if n := size(); n != int64(len("changed")) {
		t.Errorf("%d bytes were sent", n)
	}
	kept, _ := filepath.Glob(filepath.Join(store, key, "*"))
	for _, f := range kept {
		if err := os.WriteFile(f, []byte("tampered"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := size(); n == 0 {
		t.Error("what somebody else wrote is taken for ours")
	}
}

// TestNeeds: a machine asks for nothing that is not in the parcel.
func TestNeeds(t *testing.T) {
	p, _ := planned(t)
	box, err := Pack(context.Background(), p, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := box.contents()
	if err != nil {
		t.Fatal(err)
	}
	whole := bytes.Repeat([]byte{0xff}, (len(all)+7)/8)
	for _, needs := range [][]byte{nil, {}, append(whole, 0), append(whole, 0xff), whole[:len(whole)-1]} {
		if _, err := box.Send(&bytes.Buffer{}, needs); !errors.Is(err, ErrNeeds) {
			t.Errorf("%x: %v", needs, err)
		}
	}
	if len(all)%8 != 0 {
		if _, err := box.Send(&bytes.Buffer{}, whole); !errors.Is(err, ErrNeeds) {
			t.Error("more than there is")
		}
	}
}

// TestChangedMeanwhile: a file is sent as it was listed, or not at all.
func TestChangedMeanwhile(t *testing.T) {
	p, root := planned(t)
	for _, now := range []string{"SHOWN", "s", ""} {
		box, err := Pack(context.Background(), p, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := Arrive(&box.List, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(root, "plain"), now, 0o644)
		put(t, filepath.Join(root, "sub/copy"), now, 0o644)
		var left bytes.Buffer
		if _, err := box.Send(&left, u.Needs()); err == nil || bytes.Contains(left.Bytes(), []byte("SHOWN")) || bytes.HasSuffix(left.Bytes(), []byte("s")) {
			t.Errorf("%q was sent as it was not listed: %v, %q", now, err, left.Bytes())
		}
		u.Close()
		put(t, filepath.Join(root, "plain"), "shown", 0o644)
		put(t, filepath.Join(root, "sub/copy"), "shown", 0o644)
	}
	p.Ops[1].ID = &plan.Identity{Dev: 1, Ino: 1}
	if _, err := Pack(context.Background(), p, key, nil); err == nil {
		t.Error("another directory than was judged is sent")
	}
}

// TestArriveRefuses: what is no parcel makes nothing outside its directory.
func TestArriveRefuses(t *testing.T) {
	root := Entry{Kind: Dir, Mode: 0o755}
	for name, l := range map[string]List{
		"key":    {Key: "../x", Trees: [][]Entry{{root}}},
		"up":     {Key: key, Trees: [][]Entry{{root, {Kind: Dir, Path: []byte("../x"), Mode: 0o755}}}},
		"root":   {Key: key, Trees: [][]Entry{{root, {Kind: Dir, Path: []byte("/x"), Mode: 0o755}}}},
		"none":   {Key: key, Trees: [][]Entry{{}}},
		"kind":   {Key: key, Trees: [][]Entry{{root, {Kind: 'b', Path: []byte("x")}}}},
		"digest": {Key: key, Trees: [][]Entry{{root, {Kind: File, Path: []byte("x"), Size: 3, Sum: []byte("x")}}}},
		"minus":  {Key: key, Trees: [][]Entry{{root, {Kind: File, Path: []byte("x"), Size: -3, Sum: make([]byte, 32)}}}},
		"link":   {Key: key, Trees: [][]Entry{{root, {Kind: Link, Path: []byte("l"), Target: []byte("..")}, {Kind: File, Path: []byte("l"), Mode: 0o600}}}},
	} {
		u, err := Arrive(&l, t.TempDir())
		if err == nil {
			err = u.Take(&bytes.Buffer{}, t.TempDir())
			u.Close()
		}
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
