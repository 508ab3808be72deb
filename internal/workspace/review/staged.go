package review

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// A file that waits may be in git's index, or in a commit, which are the host's already:
// git checkout and git restore bring it to the worktree, and nobody is asked then. That
// is a person's own command, but whoever gives it has to know.

// staged says which files that wait are in the index of their tree, as the session left
// them.
func (j *judge) staged(entries []Entry) []string {
	var out []string
	for n, t := range j.trees {
		if t.Prefix != "" || t.View != Live {
			continue
		}
		wanted := map[string]*Entry{}
		for i := range entries {
			if e := &entries[i]; e.Tree == n && e.State == Waits && e.Rank == hostexec.Unasked && e.New != nil && e.New.Type == change.File && !t.ownData(e.Path) {
				wanted[e.Path] = e
			}
		}
		for _, p := range j.inIndex(n, wanted) {
			out = append(out, fmt.Sprintf("git's index has %s: git checkout or restore brings it over", strconv.QuoteToASCII(p)))
		}
	}
	return out
}

// maxStaged bounds how many are said.
const maxStaged = 10

func (j *judge) inIndex(n int, wanted map[string]*Entry) (out []string) {
	if len(wanted) == 0 {
		return nil
	}
	config, _ := j.text(location{n, ".git/config"})
	index := &Entry{Tree: n, State: OnHost, Change: change.Change{Path: ".git/index", New: &change.Node{Type: change.File}}}
	content := j.newMost(index, hostexec.MaxJudged)
	if content == nil {
		return nil
	}
	// What cannot be read is said by whoever judges the index.
	_ = hostexec.IndexEntries(content, []byte(config), func(path string, object []byte) {
		if e := wanted[path]; e != nil && len(out) < maxStaged && hex.EncodeToString(object) == blobID(j.new(e), len(object)) {
			out = append(out, path)
		}
	})
	return out
}

// blobID is the name that git gives to a content.
func blobID(content []byte, width int) string {
	var h hash.Hash = sha1.New()
	if width == sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
