package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// What a command uses of the tree is part of what is trusted with it: a script that a
// hook runs, the release that yarnPath leads to. words.go reads commands as a shell
// does, reach.go finds the files; every word that is a name by itself counts too.
const (
	maxWords      = 4096     // that may be names, of one file
	maxNamed      = 64       // files that are named by one
	maxCompanion  = 16 << 20 // read of one; a larger one is known by its times
	maxCompanions = 64 << 20 // read in all
)

// roots are how settings write the directory of the project.
var roots = strings.NewReplacer("${CLAUDE_PROJECT_DIR}/", "", "$CLAUDE_PROJECT_DIR/", "", "${workspaceFolder}/", "", "${workspaceRoot}/", "", "$PWD/", "", "${PWD}/", "")

// digest is of what would be trusted: the file, or of one that is rewritten all the
// time what was found in it; and the files of the tree that it uses. It is none if that
// is more than can be looked at: then it cannot be trusted.
func (s *scan) digest(rel string, r *rule, data []byte, hits []hit) digested {
	h := sha256.New()
	fmt.Fprintf(h, "ringfence pretrust 3\n%q %q\n", rel, ruleName(r))
	if r != nil && !r.Partly || cutShort(hits) {
		fmt.Fprintf(h, "file %x\n", sha256.Sum256(data))
	}
	for _, hit := range hits {
		fmt.Fprintf(h, "%s %x\n", hit.kind.id, sha256.Sum256([]byte(hit.seed)))
	}
	with, err := s.companions(rel, r, data, hits)
	if err != nil || len(hits) > maxHits || slices.ContainsFunc(hits, func(h hit) bool { return len(h.full) > maxFull }) {
		return digested{}
	}
	for _, f := range with.files {
		fmt.Fprintf(h, "names %q %s\n", f.rel, f.stat)
	}
	if with.all != "" {
		fmt.Fprintf(h, "all %s\n", with.all)
	}
	return digested{hex.EncodeToString(h.Sum(nil)), with}
}

// digested is a digest, and what it is of beside the file itself.
type digested struct {
	sum string
	with
}

// with is what is trusted together with a file.
type with struct {
	files []entry // with what they hold
	all   string  // every file of the tree: the digest of that
}

// companions finds the files that are used by what was found.
func (s *scan) companions(rel string, r *rule, data []byte, hits []hit) (with, error) {
	words, ok := named(hits)
	put, all := s.tree.inserted(rel, string(data))
	if !ok || !all {
		return with{}, errBudget
	}
	words = append(words, put...)
	var u usage
	for _, h := range hits {
		u.set = nil
		u.add(h)
	}
	most := maxNamed
	if r != nil && r.Above > 0 {
		dir := rel
		for range r.Above {
			dir = path.Dir(dir)
		}
		files, err := s.below(dir)
		if err != nil {
			return with{}, err
		}
		words, most = append(words, files...), starredNames
	}
	found, err := s.reached(&u)
	if err != nil {
		return with{}, err
	}
	if len(found.dirs) > 0 {
		most = starredNames
	}
	var out with
	if found.all {
		if out.all, err = s.allFiles(); err != nil {
			return with{}, err
		}
	}
	but := rel
	if r == nil { // it is what it runs
		but = ""
	}
	out.files, err = s.contents.all(append(words, found.files...), but)
	if len(out.files) > most {
		err = errBudget
	}
	return out, err
}

// all tells what files hold, those that are there.
func (c *contents) all(names []string, but string) (out []entry, err error) {
	seen := map[string]bool{but: true}
	for _, name := range names {
		sum, real, err := c.of(name)
		if errors.Is(err, errAway) {
			sum, real, err = "leads to "+c.tree.links(name), name, nil
		}
		if err == errBudget {
			return nil, err
		}
		if err == nil && !seen[real] {
			seen[real] = true
			out = append(out, entry{real, sum})
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.rel, b.rel) })
	return out, nil
}

// contents is what is known of files that settings name.
type contents struct {
	tree *tree
	sums map[string]string
	left int64 // bytes that may be read
}

func newContents(t *tree) contents { return contents{t, map[string]string{}, maxCompanions} }

// cutShort: there is more in a text than its findings tell.
func cutShort(hits []hit) bool {
	return len(hits) >= maxTextHits || slices.ContainsFunc(hits, func(h hit) bool { return h.kind.id == kUnclear.id })
}

// oneDigest is the digest of a file that has several names.
func oneDigest(of []digested) string {
	if len(of) == 1 {
		return of[0].sum
	}
	var sums []string
	for _, d := range of {
		sums = append(sums, d.sum)
	}
	if slices.Contains(sums, "") {
		return ""
	}
	slices.Sort(sums)
	sum := sha256.Sum256([]byte(strings.Join(sums, "\n")))
	return hex.EncodeToString(sum[:])
}

// named lists the words of commands that may be files of the tree, and whether it is
// all of them.
func named(hits []hit) ([]string, bool) {
	var out []string
	seen := map[string]bool{}
	for _, h := range hits {
		words := strings.FieldsFunc(h.runs, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&<>()=,", r) })
		for _, w := range words {
			w = strings.TrimPrefix(strings.TrimPrefix(roots.Replace(w), "file://"), "./")
			if len(w) >= 4096 || !local(w) || seen[w] {
				continue
			}
			if len(out) == maxWords {
				return out, false
			}
			seen[w] = true
			out = append(out, w)
		}
	}
	return out, true
}

// opencode puts the value of a variable in first, and then looks for names of files.
var (
	variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{env:[^}]+\}`) })
	puzzle   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(?:f|fi|fil|file)?\x00|\{file:[^}]*\x00`) })
)

// inserted lists the files whose text opencode puts into a file of settings before it
// reads it, and whether it is all of them: a name that is put together with the value of
// a variable can be any.
func (t *tree) inserted(rel, data string) (out []string, all bool) {
	const mark = "{file:"
	if puzzle().MatchString(variable().ReplaceAllString(data, "\x00")) {
		return nil, false
	}
	for at := strings.Index(data, mark); at >= 0; at = strings.Index(data, mark) {
		name, rest, ok := strings.Cut(data[at+len(mark):], "}")
		if !ok {
			break
		}
		data = rest
		if name, ok := t.leads(path.Dir(rel), strings.TrimSpace(name)); ok && len(name) < unix.PathMax {
			out = append(out, name)
		}
	}
	return out, len(out) <= maxWords
}

// of tells the content of a file that a setting names.
func (c *contents) of(rel string) (sum, real string, err error) {
	look, real, err := c.tree.open(rel, unix.O_PATH)
	if err != nil {
		return "", "", err
	}
	defer unix.Close(look)
	var st unix.Stat_t
	if err := unix.Fstat(look, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", "", errNoFile
	}
	if sum, ok := c.sums[real]; ok {
		return sum, real, nil
	}
	if st.Size > maxCompanion {
		return fmt.Sprintf("%d %d %d %d", st.Size, st.Ino, st.Mtim.Nano(), st.Ctim.Nano()), real, nil
	}
	if st.Size > c.left {
		return "", real, errBudget
	}
	c.left -= st.Size
	fd, _, err := c.tree.open(real, unix.O_RDONLY|unix.O_NOFOLLOW)
	if err != nil {
		return "", "", err
	}
	f := os.NewFile(uintptr(fd), real)
	defer f.Close()
	h := sha256.New()
	if _, err = io.Copy(h, io.LimitReader(f, maxCompanion)); err != nil {
		return "", "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	c.sums[real] = sum
	return sum, real, nil
}
