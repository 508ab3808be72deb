package hostexec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxJudged bounds the files of a git directory that are judged by content.
const MaxJudged = 256 << 20

// Fits says whether content has the form, and if not, why. What does not fit waits
// for a person.
func Fits(form Form, content []byte) error {
	if len(content) > MaxJudged {
		return errors.New("too large to be judged")
	}
	switch form {
	case FormAny:
		return nil
	case FormRef:
		return fitsRef(content)
	case FormPackedRefs:
		return fitsPackedRefs(content)
	case FormIndex:
		return indexOfWidth(content, sha1Width)
	case FormTodo:
		return fitsTodo(content)
	case FormEmpty:
		if len(content) != 0 {
			return errors.New("git follows the paths in it")
		}
		return nil
	case FormModules:
		return fitsModules(content)
	case FormLog:
		return fitsLog(content)
	case FormStrategy, FormApply, FormSequence, FormSign, FormName:
		return fitsState(form, content)
	}
	return errors.New("of no known form")
}

// FitsAfter is Fits for what takes the place of old. Only what stood there says how
// long the names of objects are in an index: who could choose would have git read
// other entries than were judged. Where nothing stood they are those of SHA-1.
func FitsAfter(form Form, old, content []byte) error {
	if form == FormIndex && len(content) <= MaxJudged && indexOfWidth(old, sha1Width) != nil && indexOfWidth(old, sha256Width) == nil {
		return indexOfWidth(content, sha256Width)
	}
	return Fits(form, content)
}

// fitsRef takes the two forms of a reference that git writes.
func fitsRef(content []byte) error {
	text := strings.TrimSuffix(string(content[:min(len(content), 4096)]), "\n")
	if name, ok := strings.CutPrefix(text, "ref: "); ok {
		if !strings.HasPrefix(name, "refs/") || !refNames(name) {
			return errors.New("it leads to no plain reference")
		}
		return nil
	}
	if len(text) != 40 && len(text) != 64 || !hex(text) {
		return errors.New("neither the name of an object nor of a reference")
	}
	return nil
}

func fitsPackedRefs(content []byte) error {
	for n := 1; len(content) > 0; n++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		switch {
		case n == 1 && bytes.HasPrefix(line, []byte("# pack-refs with:")):
			continue
		case len(line) > 0 && line[0] == '^':
			if hex(string(line[1:])) {
				continue
			}
		default:
			id, name, ok := strings.Cut(string(line), " ")
			if ok && (len(id) == 40 || len(id) == 64) && hex(id) && strings.HasPrefix(name, "refs/") && refNames(name) {
				continue
			}
		}
		return fmt.Errorf("line %d is not one of packed references", n)
	}
	return nil
}

// fitsLog takes lines of a reflog: two objects, and who did what.
func fitsLog(content []byte) error {
	for n := 1; len(content) > 0; n++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		ids, _, _ := strings.Cut(string(line), "<")
		words := strings.Fields(ids)
		if len(words) < 2 || !hex(words[0]) || !hex(words[1]) || len(words[0]) < 40 || len(words[1]) != len(words[0]) {
			return fmt.Errorf("line %d is not one of a reflog", n)
		}
	}
	return nil
}

// todoWords are the commands of a rebase that execute nothing by themselves.
var todoWords = []string{
	"pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "break", "b", "noop", "label", "l", "reset", "t", "merge", "m",
	"update-ref", "u",
}

func fitsTodo(content []byte) error {
	for line := range strings.SplitSeq(string(content), "\n") {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "" && word[0] != '#' && !slices.Contains(todoWords, word) {
			return fmt.Errorf("git executes what stands behind %q", word[:min(len(word), 20)])
		}
	}
	return nil
}

// fitsModules reads .gitmodules: what leads git elsewhere or executes something is
// not plain, nor is a path that looks other than it is.
func fitsModules(content []byte) error {
	if len(content) > maxLook {
		return errors.New("too large to be judged")
	}
	entries, err := parseConfig(content)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, has := e.sub()
		if e.section() != "submodule" || !has || !plainModule(name) {
			return fmt.Errorf("line %d: not a plain submodule", e.line)
		}
		if e.bare || !plainModuleValue(e) {
			return fmt.Errorf("line %d: %s is not plain", e.line, e.name())
		}
	}
	return nil
}

// plainModule holds for names of submodules that can be nothing else in a git
// directory.
func plainModule(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if keywords[strings.ToLower(part)] || strings.HasPrefix(part, "-") {
			return false
		}
	}
	return printable(name)
}

func plainModuleValue(e entry) bool {
	switch e.name() {
	case "path":
		return printable(e.value) && plainTreePath(e.value) && e.value[0] != '-'
	case "url":
		return plainURL(e.value) || relativeURL(e.value)
	case "branch":
		return e.value == "." || refNames(e.value)
	case "update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, e.value)
	case "shallow", "fetchrecursesubmodules", "active":
		return e.flag() || e.value == "on-demand"
	case "ignore":
		return slices.Contains([]string{"all", "dirty", "untracked", "none"}, e.value)
	}
	return false
}

// relativeURL is an address beside that of the repository.
func relativeURL(url string) bool {
	return (strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../")) && printable(url) && !strings.ContainsAny(url, " \\:")
}

// plainTreePath holds for a path that git may write in a worktree: relative, and no
// part of it leads upward or into a git directory, on any file system.
func plainTreePath(p string) bool {
	if p == "" || len(p) > 4096 || strings.IndexByte(p, 0) >= 0 {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || gitAlias(part) {
			return false
		}
	}
	return true
}

// gitAlias holds for names that some file system takes for .git.
func gitAlias(name string) bool {
	name = fold(name)
	if !strings.HasPrefix(name, ".git") && !strings.HasPrefix(name, "git~") {
		return false
	}
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, `\`)
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}

var errIndex = errors.New("not an index as git writes it")

// The sizes of object names.
const (
	sha1Width   = 20
	sha256Width = 32
)

// indexOfWidth reads an index. git writes files where its entries say, and does not ask
// whether that is in the worktree: an entry .git/hooks/post-checkout becomes a hook.
func indexOfWidth(content []byte, width int) error {
	if len(content) < 12 || string(content[:4]) != "DIRC" {
		return errIndex
	}
	version, count := binary.BigEndian.Uint32(content[4:]), binary.BigEndian.Uint32(content[8:])
	if version < 2 || version > 4 || uint64(count) > uint64(len(content)) {
		return errIndex
	}
	r := indexReader{rest: content[12:], version: version}
	if bytes.Contains(r.rest, []byte("IEOT")) {
		r.starts = map[int]indexStart{}
	}
	if err := r.entries(count, width); err != nil {
		return err
	}
	return r.extensions(int(count), len(content)-len(r.left), width)
}

// indexReader goes over the entries of an index.
type indexReader struct {
	rest    []byte
	version uint32
	left    []byte             // what follows the entries
	starts  map[int]indexStart // by where they begin in the file; nil if nobody asks
}

// indexStart is where an entry begins, for who reads it without those before.
type indexStart struct {
	number int
	alone  bool // its name needs no other
}

func (r *indexReader) entries(count uint32, width int) error {
	in, name, split := r.rest, []byte(nil), bytes.Contains(r.rest, []byte("link\x00"))
	fixed := 40 + width + 2
	for number := range count {
		if len(in) < fixed+1 {
			return errIndex
		}
		flags := binary.BigEndian.Uint16(in[fixed-2:])
		head := fixed
		if flags&0x4000 != 0 {
			if r.version < 3 {
				return errIndex
			}
			head += 2
		}
		mode := binary.BigEndian.Uint32(in[24:])
		before := len(name)
		var used, kept int
		var err error
		if name, used, kept, err = r.name(in, head, name); err != nil {
			return err
		}
		// git does not look for the end of a name: it takes the length from the flags,
		// and finds the next entry by it.
		if int(flags&0xfff) != min(len(name), 0xfff) {
			return errIndex
		}
		if r.starts != nil {
			r.starts[12+len(r.rest)-len(in)] = indexStart{int(number), kept == 0 || before == 0}
		}
		path := strings.TrimSuffix(string(name), "/")
		if len(name) == 0 && split {
			path = "replaced" // its name is in the shared index, which is judged itself
		}
		if mode>>12 != 0o4 && path != string(name) && len(name) != 0 {
			return errIndex // only directories of a sparse index end in a slash
		}
		if !plainTreePath(path) {
			return fmt.Errorf("git would write to %q", path)
		}
		in = in[used:]
	}
	if len(in) < width {
		return errIndex
	}
	r.left = in
	return nil
}

// name reads the name of an entry: whole and padded, or in version 4 by what it has in
// common with the one before, of which kept bytes remain.
func (r *indexReader) name(in []byte, head int, before []byte) (name []byte, used, kept int, err error) {
	if r.version < 4 {
		end := bytes.IndexByte(in[head:], 0)
		if end < 0 {
			return nil, 0, 0, errIndex
		}
		if used = (head + end + 8) &^ 7; used > len(in) {
			return nil, 0, 0, errIndex
		}
		return in[head : head+end], used, 0, nil
	}
	drop, n := indexVarint(in[head:])
	if n == 0 || drop > uint64(len(before)) {
		return nil, 0, 0, errIndex
	}
	end := bytes.IndexByte(in[head+n:], 0)
	if end < 0 {
		return nil, 0, 0, errIndex
	}
	kept = len(before) - int(drop)
	name = append(slices.Clone(before[:kept]), in[head+n:head+n+end]...)
	return name, head + n + end + 1, kept, nil
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

// extensions knows those that git writes. One that is not known could name paths too.
// Two say again how many entries there are and where they end, and git believes them.
func (r *indexReader) extensions(count, end, width int) error {
	in := r.left
	for len(in) > width {
		if len(in) < 8 {
			return errIndex
		}
		size := uint64(binary.BigEndian.Uint32(in[4:])) + 8
		if size > uint64(len(in)-width) {
			return errIndex
		}
		body := in[8:size]
		switch string(in[:4]) {
		case "TREE", "REUC", "link", "UNTR", "FSMN", "sdir":
		case "EOIE":
			if len(body) != 4+width || int64(binary.BigEndian.Uint32(body)) != int64(end) {
				return errIndex
			}
		case "IEOT":
			if !r.blocks(body, count) {
				return errIndex
			}
		default:
			return fmt.Errorf("extension %q is not known", in[:4])
		}
		in = in[size:]
	}
	if len(in) != width {
		return errIndex
	}
	return nil
}

// blocks judges the table by which git reads an index with several threads: each line
// has the place of an entry and how many follow, and all entries are in it once.
func (r *indexReader) blocks(table []byte, count int) bool {
	if len(table) < 12 || len(table)%8 != 4 || binary.BigEndian.Uint32(table) != 1 {
		return false
	}
	next := 0
	for table = table[4:]; len(table) > 0; table = table[8:] {
		start, ok := r.starts[int(binary.BigEndian.Uint32(table))]
		if !ok || start.number != next || !start.alone {
			return false
		}
		next += int(binary.BigEndian.Uint32(table[4:]))
	}
	return next == count
}
