package pretrust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What a command names in the tree is part of what is trusted with it: a script that
// a hook runs, the release that yarnPath leads to.
const (
	maxWords      = 4096     // that may be names, of one file
	maxNamed      = 64       // files that are named by one
	maxCompanion  = 16 << 20 // read of one; a larger one is known by its times
	maxCompanions = 64 << 20 // read in all
)

// roots are how settings write the directory of the project.
var roots = strings.NewReplacer("${CLAUDE_PROJECT_DIR}/", "", "$CLAUDE_PROJECT_DIR/", "", "${workspaceFolder}/", "", "${workspaceRoot}/", "", "$PWD/", "", "${PWD}/", "")

// digest is of what would be trusted: the file, or of one that is rewritten all the
// time what was found in it; and the files of the tree that it names. It is "" if that
// is more than can be looked at: then it cannot be trusted.
func (s *scan) digest(rel string, r *rule, data []byte, hits []hit) string {
	h := sha256.New()
	fmt.Fprintf(h, "ringfence pretrust 2\n%q %q\n", rel, ruleName(r))
	if r != nil && !r.partly || cutShort(hits) {
		fmt.Fprintf(h, "file %x\n", sha256.Sum256(data))
	}
	for _, hit := range hits {
		fmt.Fprintf(h, "%s %x\n", hit.kind.id, sha256.Sum256([]byte(hit.seed)))
	}
	words, ok := named(hits)
	found := 0
	for _, name := range words {
		sum, real, err := s.companion(name)
		if err == errBudget {
			return ""
		}
		if err == nil {
			fmt.Fprintf(h, "names %q %s\n", real, sum)
			found++
		}
	}
	if !ok || found > maxNamed || len(hits) > maxHits || slices.ContainsFunc(hits, func(h hit) bool { return len(h.full) > maxFull }) {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cutShort: there is more in a text than its findings tell.
func cutShort(hits []hit) bool {
	return len(hits) >= maxTextHits || slices.ContainsFunc(hits, func(h hit) bool { return h.kind.id == kUnclear.id })
}

// oneDigest is the digest of a file that has several names.
func oneDigest(sums []string) string {
	if len(sums) == 1 {
		return sums[0]
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

// companion tells the content of a file that a setting names.
func (s *scan) companion(rel string) (sum, real string, err error) {
	look, real, err := s.tree.open(rel, unix.O_PATH)
	if err != nil {
		return "", "", err
	}
	defer unix.Close(look)
	var st unix.Stat_t
	if err := unix.Fstat(look, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", "", errNoFile
	}
	if sum, ok := s.sums[real]; ok {
		return sum, real, nil
	}
	if st.Size > maxCompanion {
		return fmt.Sprintf("%d %d %d %d", st.Size, st.Ino, st.Mtim.Nano(), st.Ctim.Nano()), real, nil
	}
	if st.Size > s.sumBytes {
		return "", real, errBudget
	}
	s.sumBytes -= st.Size
	fd, _, err := s.tree.open(real, unix.O_RDONLY|unix.O_NOFOLLOW)
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
	s.sums[real] = sum
	return sum, real, nil
}
