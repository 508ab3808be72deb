package gomod

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/registry/store"
)

// maxReady is how large a module is that is unpacked beforehand.
const maxReady = 64 << 20

// modCache is the module cache, below the directory of which a session has its own.
const modCache = "mod"

// toolchain is a module that the go command unpacks in its own way.
const toolchain = "golang.org/toolchain"

// ready puts a file where the go command looks for it in its cache. The go command compares
// what it finds there with go.sum, or asks the sum database, as it does with what it fetched.
func (d *Door) ready(q request, sum store.Digest, f *os.File) {
	if d.Ready == nil || q.module == toolchain {
		return
	}
	at := filepath.Join(modCache, "cache/download", q.path())
	if q.what == "mod" {
		d.Ready.Link(f, at)
		return
	}
	if st, err := f.Stat(); err != nil || st.Size() > maxReady {
		return
	}
	d.Ready.Later(f, at, func(dir string, f *os.File) error { return unpack(dir, q, sum, f) })
}

// unpack makes the directory of a module, and then the notes that say that it is there.
func unpack(dir string, q request, sum store.Digest, f *os.File) error {
	m := module.Version{Path: q.module, Version: q.version}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return err
	}
	h1, err := hex.DecodeString(sum.Sum)
	if err != nil {
		return err
	}
	to, temp := filepath.Join(dir, modCache, path+"@"+version), filepath.Join(dir, file.Temporary+rand.Text())
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	// It refuses names that are not the module's, that lead elsewhere or differ in case alone,
	// whatever is no plain file, and what is larger than it says.
	if err := zip.Unzip(temp, m, "/proc/self/fd/"+strconv.Itoa(int(f.Fd()))); err != nil {
		file.RemoveTree(temp)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Rename(temp, to); err != nil {
		file.RemoveTree(temp)
		return err
	}
	at := filepath.Join(dir, modCache, "cache/download", q.path())
	if err := ready.LinkAt(f, at); err != nil {
		return err
	}
	return os.WriteFile(at[:len(at)-len(".zip")]+".ziphash", []byte("h1:"+base64.StdEncoding.EncodeToString(h1)), 0o644)
}

// name notes that a proxy, or the host's cache for it, had this file under this name.
func (d *Door) name(p Proxy, q request, sum store.Digest) {
	d.Store.PutNote(store.Note{Key: nameKey(p, q), When: time.Now(), Body: []byte(sum.Sum)})
}

// named holds for a digest that is not the project's word alone: go.sum is a file of the
// project, and a blob is found by any name that it gives it.
func (d *Door) named(q request, sum store.Digest) bool {
	if d.Ready == nil {
		return false
	}
	if proved, ok := d.Sums.proved(q); ok {
		return proved == sum
	}
	return slices.ContainsFunc(d.Proxies, func(p Proxy) bool {
		n, ok := d.Store.Note(nameKey(p, q))
		return ok && string(n.Body) == sum.Sum
	})
}

func nameKey(p Proxy, q request) string { return "go file " + p.Name() + " " + q.path() }
