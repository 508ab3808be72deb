package undo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
)

const (
	maxRefText = 4 << 10
	maxGitText = 64 << 20 // of packed refs, an index, a reflog
)

var errGitForm = errors.New("git's file is not in a form that is known")

// text reads a file of the tree, all of it or an error.
func (d *disk) text(s place, most int64) ([]byte, error) {
	root, err := d.root(s.tree)
	if err != nil {
		return nil, err
	}
	fd, err := openFileAt(root, s.rel)
	if err != nil {
		return nil, err
	}
	return readAll(os.NewFile(uintptr(fd), s.rel), most)
}

// readAll reads a file and closes it.
func readAll(f *os.File, most int64) ([]byte, error) {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = errGitForm
	}
	return b, err
}

// refText is what a ref or a HEAD says: "ref: NAME", an id, or nothing.
func refText(b []byte) string {
	text := strings.TrimRight(string(b), "\n ")
	if name, is := strings.CutPrefix(text, "ref:"); is {
		return "ref: " + strings.TrimLeft(name, " \t")
	}
	if id, _, _ := strings.Cut(text, "\n"); isHex(id) {
		return id
	}
	return ""
}

// target is the ref that a text names.
func target(text string) (string, bool) { return strings.CutPrefix(text, "ref: ") }

// packedRefs reads the refs of a file of them. A line that is no ref is passed over, as
// git itself would refuse the file.
func packedRefs(b []byte) map[string]string {
	refs := map[string]string{}
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		id, name, ok := strings.Cut(string(line), " ")
		if ok && (len(id) == 40 || len(id) == 64) && isHex(id) {
			refs[name] = id
		}
	}
	return refs
}

// ids lists the objects that a text names: all that looks like one, but for the one that
// stands for none.
func ids(b []byte) (all []string) {
	for _, word := range bytes.FieldsFunc(b, func(r rune) bool { return r == ' ' || r == '\n' || r == '^' || r == '\t' }) {
		if (len(word) == 40 || len(word) == 64) && isHex(string(word)) && bytes.Trim(word, "0") != nil && len(bytes.Trim(word, "0")) > 0 {
			all = append(all, string(word))
		}
	}
	return all
}

// gitIndexFile is what an index says.
type gitIndexFile struct {
	ids     []string
	meaning string // the same for two that list the same
}

// readIndex takes an index apart. Its times and sizes are git's notes about the worktree
// and mean nothing.
func readIndex(b []byte) (gitIndexFile, error) {
	for _, width := range []int{20, 32} {
		if x, err := readIndexOf(b, width); err == nil {
			return x, nil
		}
	}
	return gitIndexFile{}, errGitForm
}

func readIndexOf(b []byte, width int) (x gitIndexFile, err error) {
	if len(b) < 12+width || string(b[:4]) != "DIRC" {
		return x, errGitForm
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return x, errGitForm
	}
	rest, h := b[12:len(b)-width], sha256.New()
	name := ""
	for range count {
		var e indexEntry
		if e, rest, err = nextEntry(rest, width, version, name); err != nil {
			return x, err
		}
		name = e.name
		if e.mode&0o170000 != 0o160000 { // the commit of a submodule is not here
			x.ids = append(x.ids, e.id)
		}
		h.Write([]byte(e.id + " " + e.name + "\x00" + string(e.flags)))
		binary.Write(h, binary.BigEndian, e.mode)
	}
	x.meaning = hex.EncodeToString(h.Sum(nil))
	more, err := extensions(rest, width)
	x.ids = append(x.ids, more...)
	return x, err
}

type indexEntry struct {
	id, name string
	mode     uint32
	flags    []byte // stage, and what is not to be looked at
}

// nextEntry reads one entry: 40 bytes of notes with the mode in them, the id, flags, a name.
func nextEntry(b []byte, width int, version uint32, last string) (e indexEntry, rest []byte, err error) {
	head := 40 + width + 2
	if len(b) < head+2 {
		return e, nil, errGitForm
	}
	e.mode = binary.BigEndian.Uint32(b[24:])
	e.id = hex.EncodeToString(b[40 : 40+width])
	flags := binary.BigEndian.Uint16(b[40+width:])
	e.flags = []byte{byte(flags >> 12)}
	if flags&0x4000 != 0 {
		if version < 3 {
			return e, nil, errGitForm
		}
		e.flags = append(e.flags, b[head:head+2]...)
		head += 2
	}
	if version == 4 {
		return nextName(e, b, head, last)
	}
	end := bytes.IndexByte(b[head:], 0)
	if end < 0 {
		return e, nil, errGitForm
	}
	e.name = string(b[head : head+end])
	size := (head + end + 8) &^ 7
	if size > len(b) {
		return e, nil, errGitForm
	}
	return e, b[size:], nil
}

// nextName reads a name of version 4: how much of the last one goes, and what comes.
func nextName(e indexEntry, b []byte, head int, last string) (indexEntry, []byte, error) {
	drop, i := 0, head
	for more := true; more; i++ {
		if i >= len(b) || i > head+3 {
			return e, nil, errGitForm
		}
		c := b[i]
		if i > head {
			drop++
		}
		drop, more = drop<<7|int(c&0x7f), c&0x80 != 0
	}
	end := bytes.IndexByte(b[i:], 0)
	if end < 0 || drop > len(last) {
		return e, nil, errGitForm
	}
	e.name = last[:len(last)-drop] + string(b[i:i+end])
	return e, b[i+end+1:], nil
}

// extensions lists the objects that the rest of an index names: the trees that git keeps
// there, and what conflicts were before they were resolved.
func extensions(b []byte, width int) (all []string, err error) {
	for len(b) > 0 {
		if len(b) < 8 {
			return nil, errGitForm
		}
		name, size := string(b[:4]), int64(binary.BigEndian.Uint32(b[4:]))
		if size > int64(len(b)-8) {
			return nil, errGitForm
		}
		body := b[8 : 8+size]
		b = b[8+size:]
		switch name {
		case "TREE":
			all, err = treeIDs(all, body, width)
		case "REUC":
			all, err = resolvedIDs(all, body, width)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func treeIDs(all []string, b []byte, width int) ([]string, error) {
	for len(b) > 0 {
		zero := bytes.IndexByte(b, 0)
		line := bytes.IndexByte(b, '\n')
		if zero < 0 || line < zero {
			return nil, errGitForm
		}
		valid := b[zero+1] != '-'
		if b = b[line+1:]; !valid {
			continue
		}
		if len(b) < width {
			return nil, errGitForm
		}
		all, b = append(all, hex.EncodeToString(b[:width])), b[width:]
	}
	return all, nil
}

func resolvedIDs(all []string, b []byte, width int) ([]string, error) {
	for len(b) > 0 {
		var stages int
		for i := range 4 {
			end := bytes.IndexByte(b, 0)
			if end < 0 {
				return nil, errGitForm
			}
			if i > 0 && string(b[:end]) != "0" {
				stages++
			}
			b = b[end+1:]
		}
		for range stages {
			if len(b) < width {
				return nil, errGitForm
			}
			all, b = append(all, hex.EncodeToString(b[:width])), b[width:]
		}
	}
	return all, nil
}
