package review

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// Patch writes all differences in the form of git. Texts are shown as they are:
// whoever prints them on a terminal takes the control characters out.
func (r *Report) Patch(w io.Writer) error {
	out := bufio.NewWriter(w)
	err := r.each(func(e *Entry, c contents) {
		if len(r.Work.Trees) > 1 {
			fmt.Fprintf(out, "# in %s\n", gitQuote(r.Work.Trees[e.Tree].Path))
		}
		patchEntry(out, e, c)
	})
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	return err
}

// each visits the entries with a reader of their contents.
func (r *Report) each(visit func(*Entry, contents)) error {
	log, err := r.Work.openLog()
	if err != nil {
		return err
	}
	if log != nil {
		defer log.Close()
	}
	for i := range r.Entries {
		visit(&r.Entries[i], contents{r.Work, log})
	}
	return nil
}

// Lines counts the lines that an entry adds and removes. ok is false for what has
// no lines.
func (r *Report) Lines(visit func(e *Entry, added, removed int, ok bool)) error {
	return r.each(func(e *Entry, c contents) {
		old, new, ok := texts(e, c)
		added, removed := 0, 0
		if ok {
			added, removed = count(change.Unified("a", "b", old, new))
		}
		visit(e, added, removed, ok)
	})
}

// count counts the lines of a patch behind its two lines of names.
func count(patch []byte) (added, removed int) {
	for i, line := range bytes.Split(patch, []byte{'\n'}) {
		switch {
		case i < 2 || len(line) == 0:
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed
}

// texts returns both sides of an entry if they can be shown by lines. A symbolic
// link is a text, as for git.
func texts(e *Entry, c contents) (old, new []byte, ok bool) {
	for _, side := range []struct {
		node *change.Node
		read func(*Entry) []byte
		to   *[]byte
	}{{e.Old, c.old, &old}, {e.New, c.new, &new}} {
		switch {
		case side.node == nil:
			continue
		case side.node.Type == change.Symlink:
			*side.to = []byte(side.node.Link)
		case side.node.Type != change.File || side.node.Size > maxRead:
			return nil, nil, false
		default:
			*side.to = side.read(e)
		}
		if *side.to == nil || len(*side.to) > maxRead || !change.IsText(*side.to) {
			return nil, nil, false
		}
	}
	return old, new, true
}

func patchEntry(w io.Writer, e *Entry, c contents) {
	from, to := e.Path, e.Path
	if e.From != "" {
		from = e.From
	}
	a, b := gitQuote("a/"+from), gitQuote("b/"+to)
	if special(e.Old) || special(e.New) {
		fmt.Fprintf(w, "%s: %s\n", gitQuote(e.Path), describe(e))
		return
	}
	fmt.Fprintf(w, "diff --git %s %s\n", a, b)
	header(w, e)
	if e.Old != nil && e.New != nil && e.Old.Hash == e.New.Hash && e.Old.Hash != "" {
		return
	}
	old, new, ok := texts(e, c)
	if e.Old == nil {
		a = "/dev/null"
	}
	if e.New == nil {
		b = "/dev/null"
	}
	if !ok {
		fmt.Fprintf(w, "Binary files %s and %s differ\n", a, b)
		return
	}
	w.Write(change.Unified(a, b, old, new))
}

// special holds for what git knows nothing of.
func special(n *change.Node) bool {
	return n != nil && (n.Type == change.Directory || n.Type == change.Special)
}

func describe(e *Entry) string {
	side := func(n *change.Node) string {
		if n == nil {
			return "nothing"
		}
		return fmt.Sprintf("%s with mode %04o", n.Type, n.Mode)
	}
	if e.From != "" {
		return fmt.Sprintf("%s, renamed from %s", side(e.New), gitQuote(e.From))
	}
	return fmt.Sprintf("was %s, is %s", side(e.Old), side(e.New))
}

func header(w io.Writer, e *Entry) {
	switch {
	case e.Old == nil:
		fmt.Fprintf(w, "new file mode %06o\n", gitMode(e.New))
	case e.New == nil:
		fmt.Fprintf(w, "deleted file mode %06o\n", gitMode(e.Old))
	case gitMode(e.Old) != gitMode(e.New):
		fmt.Fprintf(w, "old mode %06o\nnew mode %06o\n", gitMode(e.Old), gitMode(e.New))
	}
	if e.From != "" {
		fmt.Fprintf(w, "similarity index %d%%\nrename from %s\nrename to %s\n", similarity(e), gitQuote(e.From), gitQuote(e.Path))
	}
}

func similarity(e *Entry) int {
	if e.Old != nil && e.New != nil && e.Old.Hash == e.New.Hash {
		return 100
	}
	return 50 // of what moved and was changed nobody measures it
}

// gitMode is the mode with the type, all of it: git itself would not show setuid.
func gitMode(n *change.Node) uint32 {
	if n.Type == change.Symlink {
		return 0o120000
	}
	return 0o100000 | n.Mode
}

// gitQuote quotes a name as git does.
func gitQuote(s string) string {
	plain := true
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		c := s[i]
		named := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c)
		switch {
		case named >= 0:
			b.WriteString(`\` + string(`abtnvfr"\`[named]))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
			continue
		}
		plain = false
	}
	if plain {
		return s
	}
	return b.String() + `"`
}
