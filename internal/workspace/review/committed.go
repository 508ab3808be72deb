package review

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/overlay"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// A commit with phantoms in it makes git follow a file that it did not follow before: the
// next commit on the host would have the real values. So apply takes no such object, and
// then nothing of its repository; where one is live already the review says so.
//
// Left at risk: in a pack only a phantom is found that nobody changed.

// maxObject and maxPackIndex bound what is read to look for them.
const (
	maxObject    = 1 << 20
	maxPackIndex = 256 << 20
)

// leaveOut takes the git directories out of a plan that have a new object with phantoms.
func (t treeWork) leaveOut(p *planned) (out []Outcome) {
	bad := map[string]bool{} // by the beginning of their paths
	for _, c := range p.all {
		if repo, ok := t.phantomObject(c); ok && p.chosen[c.Path] {
			delete(p.chosen, c.Path)
			bad[repo] = true
			out = append(out, Outcome{p.tree, c.Path, string(overlay.Conflict), "a commit, the index or a stash has phantom values in it, which stood inside for real ones"})
		}
	}
	for repo := range bad {
		for _, c := range p.all {
			if p.chosen[c.Path] && strings.HasPrefix(c.Path, repo) {
				delete(p.chosen, c.Path)
				out = append(out, Outcome{p.tree, c.Path, string(overlay.Conflict), "another object of this repository has phantom values in it"})
			}
		}
	}
	return out
}

// phantomObject says whether a change brings an object of git with phantoms, and with what
// the paths of its git directory begin.
func (t treeWork) phantomObject(c change.Change) (repo string, ok bool) {
	if c.New == nil || c.New.Type != change.File {
		return "", false
	}
	dir, name := path.Split(c.Path)
	above, last := path.Split(strings.TrimSuffix(dir, "/"))
	above, objects := path.Split(strings.TrimSuffix(above, "/"))
	if objects != "objects" {
		return "", false
	}
	switch {
	case len(last) == 2 && isHex(last) && isHex(name):
		return above, phantom.IsPhantom(looseObject(read(t.layer().Open(c.Path))))
	case last == "pack" && strings.HasSuffix(name, ".idx"):
		return above, t.work.packHasPhantom(orNil(t.layer().Read(c.Path, maxPackIndex)))
	}
	return "", false
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil
}

// looseObject is what an object holds, as far as it is looked at.
func looseObject(b []byte) []byte {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, maxObject)) // what git cannot read it does not take
	_, out, _ = bytes.Cut(out, []byte{0})
	return out
}

// packHasPhantom looks for the names of what stood for masked files in the index of a pack:
// a mark, a version, 256 counts, and the names in order.
func (f folder) packHasPhantom(idx []byte) bool {
	const names = 8 + 256*4
	if len(idx) < names || len(idx) > maxPackIndex || string(idx[:8]) != "\xfftOc\x00\x00\x00\x02" {
		return false
	}
	count := int(binary.BigEndian.Uint32(idx[names-4:]))
	texts := f.phantomTexts()
	for _, width := range []int{20, 32} {
		wanted := map[string]bool{}
		for _, text := range texts {
			wanted[blobID(text, width)] = true
		}
		for i := 0; i < count && names+(i+1)*width <= len(idx); i++ {
			if wanted[hex.EncodeToString(idx[names+i*width:][:width])] {
				return true
			}
		}
	}
	return false
}

// followed says which masked files of live trees git's index has, with phantoms.
func (j *judge) followed() (out []string) {
	texts := j.work.phantomTexts()
	for n, t := range j.trees {
		if t.Prefix != "" || t.View != Live || len(t.Phantoms) == 0 {
			continue
		}
		config, _ := j.text(location{n, ".git/config"})
		index := &Entry{Tree: n, State: OnHost, Change: change.Change{Path: ".git/index", New: &change.Node{Type: change.File}}}
		_ = hostexec.IndexEntries(j.newMost(index, hostexec.MaxJudged), []byte(config), func(rel string, object []byte) {
			text, ok := texts[phantomKey(n, rel)]
			if ok && len(text) > 0 && len(out) < maxStaged && hex.EncodeToString(object) == blobID(text, len(object)) {
				out = append(out, fmt.Sprintf("git follows %s now, with values that stood for yours: git rm --cached it, or your next commit may have the real ones", strconv.QuoteToASCII(rel)))
			}
		})
	}
	return out
}
