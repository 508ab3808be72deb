package hostexec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

var errIndex = errors.New("not an index as git writes it")

// objectWidth is the length of object names in a repository with these settings.
func objectWidth(text []byte) (int, error) {
	entries, err := settings.ParseGit(text)
	if err != nil || len(text) == 0 {
		return 0, errors.New("the settings of its repository cannot be read")
	}
	width := 20
	for _, e := range entries {
		if e.Key != "extensions.objectformat" {
			continue
		}
		switch e.Value {
		case "sha1":
			width = 20
		case "sha256":
			width = 32
		default:
			return 0, fmt.Errorf("object format %q is not known", e.Value)
		}
	}
	return width, nil
}

// fitsIndex reads an index. git writes files where its entries say, and does not ask
// whether that is in the worktree: an entry .git/hooks/post-checkout becomes a hook.
// So it is read as git reads it, by every length and offset that git goes by, and
// whatever git itself would not have written does not fit.
func fitsIndex(content []byte, width int) error { return readIndex(content, width, nil) }

// IndexEntries calls visit with the path and the object of each entry of an index that
// fits a repository with these settings.
func IndexEntries(content, config []byte, visit func(path string, object []byte)) error {
	width, err := objectWidth(config)
	if err != nil {
		return err
	}
	return readIndex(content, width, visit)
}

func readIndex(content []byte, width int, visit func(path string, object []byte)) error {
	if len(content) < 12+width || string(content[:4]) != "DIRC" {
		return errIndex
	}
	r := &indexReader{all: content[:len(content)-width], at: 12, width: width, visit: visit, version: binary.BigEndian.Uint32(content[4:])}
	count := binary.BigEndian.Uint32(content[8:])
	if r.version < 2 || r.version > 4 || uint64(count)*uint64(40+width) > uint64(len(content)) {
		return errIndex
	}
	r.offsets = make([]uint32, 0, count)
	for range count {
		if err := r.entry(); err != nil {
			return err
		}
	}
	r.end = r.at
	if err := r.extensions(); err != nil {
		return err
	}
	if r.nameless && !r.shared {
		return errIndex // only entries of a shared index have no name
	}
	return nil
}

// indexReader goes over an index.
type indexReader struct {
	all      []byte // without the digest at the end
	at       int
	end      int // of the entries
	width    int
	version  uint32
	name     []byte   // of the entry before
	offsets  []uint32 // of all entries
	nameless bool
	shared   bool // there is a shared index, judged by itself
	visit    func(path string, object []byte)
}

func (r *indexReader) entry() error {
	in := r.all[r.at:]
	head := 40 + r.width + 2
	if len(in) < head+2 {
		return errIndex
	}
	flags := binary.BigEndian.Uint16(in[head-2:])
	if flags&0x4000 != 0 {
		if r.version < 3 {
			return errIndex
		}
		head += 2
	}
	name, used, err := r.entryName(in, head)
	if err != nil {
		return err
	}
	if int(flags&0xfff) != min(len(name), 0xfff) {
		return errIndex // git goes by this number, where it can
	}
	path, dir := strings.CutSuffix(string(name), "/")
	switch mode := binary.BigEndian.Uint32(in[24:]); {
	case len(name) == 0:
		r.nameless = true
	case dir && mode != 0o40000:
		return errIndex // only directories of a sparse index end in a slash
	case !plainTreePath(path):
		return fmt.Errorf("git would write to %q", path)
	}
	if r.visit != nil {
		r.visit(path, in[40:40+r.width])
	}
	r.offsets = append(r.offsets, uint32(r.at))
	r.name, r.at = name, r.at+used
	return nil
}

// entryName reads the name of an entry: whole and padded, or in version 4 by what it
// has in common with the one before.
func (r *indexReader) entryName(in []byte, head int) (name []byte, used int, err error) {
	skip, drop := 0, uint64(0)
	if r.version == 4 {
		if drop, skip = indexVarint(in[head:]); skip == 0 || drop > uint64(len(r.name)) {
			return nil, 0, errIndex
		}
	}
	end := bytes.IndexByte(in[head+skip:], 0)
	if end < 0 {
		return nil, 0, errIndex
	}
	name = in[head+skip : head+skip+end]
	if r.version == 4 {
		return append(bytes.Clone(r.name[:len(r.name)-int(drop)]), name...), head + skip + end + 1, nil
	}
	if used = (head + end + 8) &^ 7; used > len(in) {
		return nil, 0, errIndex
	}
	if len(bytes.Trim(in[head+end:used], "\x00")) != 0 {
		return nil, 0, errIndex
	}
	return name, used, nil
}

// indexVarint reads git's number of the offset kind.
func indexVarint(in []byte) (v uint64, n int) {
	for n < len(in) && n < 8 {
		c := in[n]
		n++
		v |= uint64(c & 0x7f)
		if c&0x80 == 0 {
			return v, n
		}
		v = (v + 1) << 7
	}
	return 0, 0
}

// extensions reads those that git writes. One that is not known could name paths too.
func (r *indexReader) extensions() error {
	for in := r.all[r.end:]; len(in) > 0; {
		if len(in) < 8 {
			return errIndex
		}
		size := uint64(binary.BigEndian.Uint32(in[4:]))
		if size > uint64(len(in)-8) {
			return errIndex
		}
		name, data := string(in[:4]), in[8:8+size]
		if err := r.extension(name, data); err != nil {
			return fmt.Errorf("extension %q: %w", name, err)
		}
		in = in[8+size:]
	}
	return nil
}

func (r *indexReader) extension(name string, data []byte) error {
	switch name {
	case "TREE", "FSMN", "sdir":
		return nil
	case "link":
		r.shared = true
		return nil
	case "REUC":
		return r.resolved(data)
	case "UNTR":
		return r.untracked(data)
	case "EOIE":
		if len(data) < 4 || int(binary.BigEndian.Uint32(data)) != r.end {
			return errIndex
		}
		return nil
	case "IEOT":
		return r.blocks(data)
	}
	return errors.New("not known")
}

// blocks judges the table by which git reads entries in several threads.
func (r *indexReader) blocks(data []byte) error {
	if len(data) < 4 || len(data)%8 != 4 || binary.BigEndian.Uint32(data) != 1 {
		return errIndex
	}
	next := uint64(0)
	for data = data[4:]; len(data) > 0; data = data[8:] {
		at, n := binary.BigEndian.Uint32(data), uint64(binary.BigEndian.Uint32(data[4:]))
		if next >= uint64(len(r.offsets)) || r.offsets[next] != at {
			return errIndex
		}
		next += n
	}
	if next != uint64(len(r.offsets)) {
		return errIndex
	}
	return nil
}

// resolved judges the paths of conflicts that were solved: git can bring them back.
func (r *indexReader) resolved(data []byte) error {
	for len(data) > 0 {
		path, rest, ok := bytes.Cut(data, []byte{0})
		if !ok || !plainTreePath(string(path)) {
			return errIndex
		}
		stages := 0
		for range 3 {
			var mode []byte
			if mode, rest, ok = bytes.Cut(rest, []byte{0}); !ok {
				return errIndex
			}
			if strings.Trim(string(mode), "0") != "" {
				stages++
			}
		}
		if len(rest) < stages*r.width {
			return errIndex
		}
		data = rest[stages*r.width:]
	}
	return nil
}

// untracked judges the names that git takes for untracked files without a look:
// git clean removes them.
func (r *indexReader) untracked(data []byte) error {
	size, n := indexVarint(data)
	fixed := uint64(2*36 + 4 + 2*r.width)
	if n == 0 || uint64(len(data)-n) < size+fixed {
		return errIndex
	}
	perDir, rest, ok := bytes.Cut(data[uint64(n)+size+fixed:], []byte{0})
	if !ok || string(perDir) != ".gitignore" {
		return errIndex
	}
	dirs, n := indexVarint(rest)
	if n == 0 || dirs > uint64(len(rest)) {
		return errIndex
	}
	rest = rest[n:]
	for i := range dirs {
		if rest, ok = untrackedDir(rest, i == 0); !ok {
			return errIndex
		}
	}
	return nil
}

// untrackedDir reads one directory: how many names and directories, its own name, and
// the names.
func untrackedDir(in []byte, root bool) ([]byte, bool) {
	names, n := indexVarint(in)
	if n == 0 || names > uint64(len(in)) {
		return nil, false
	}
	in = in[n:]
	if _, n = indexVarint(in); n == 0 {
		return nil, false
	}
	in = in[n:]
	for i := range names + 1 {
		name, rest, ok := bytes.Cut(in, []byte{0})
		plain := strings.TrimSuffix(string(name), "/")
		if !ok || strings.Contains(plain, "/") || !(i == 0 && root && plain == "") && !plainTreePath(plain) {
			return nil, false
		}
		in = rest
	}
	return in, true
}
