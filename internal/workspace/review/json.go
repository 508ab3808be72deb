package review

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// reportFormat is the version of the form below. Fields may be added to it; none
// changes its meaning without a new number.
const reportFormat = 1

// Name is a name of the file system in JSON. A name of printable characters stands
// as it is. Any other stands quoted in the form of Go's strconv.QuoteToASCII, and
// then its bytes are beside it in base64: the second field is there if and only if
// the first is quoted.
type Name struct {
	Text  string
	Bytes []byte
}

// NewName makes the two forms of a name.
func NewName(s string) Name {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\ufffd' {
			return Name{strconv.QuoteToASCII(s), []byte(s)}
		}
	}
	return Name{Text: s}
}

type reportJSON struct {
	Version int         `json:"version"`
	Session string      `json:"session"`
	Agent   string      `json:"agent,omitempty"`
	Project string      `json:"project"`
	Started time.Time   `json:"started"`
	Ended   *time.Time  `json:"ended,omitempty"` // missing: it runs, or was killed
	Trees   []placeJSON `json:"trees"`
	Entries []entryJSON `json:"entries"` // by rank, then tree, then path
	Lost    []string    `json:"lost"`    // what cannot be undone
	Notes   []string    `json:"notes"`
	Outside *goneJSON   `json:"outside,omitempty"` // what was written where nothing is kept
}

type placeJSON struct {
	Path  string `json:"path"`
	Bytes []byte `json:"path_bytes,omitempty"`
	View  View   `json:"view"`
}

// goneJSON tells what is gone. More is set where a bound ended the look: then there may
// be more than is told.
type goneJSON struct {
	Files int        `json:"files"`
	More  bool       `json:"more,omitempty"`
	Names []itemJSON `json:"names"`
}

type itemJSON struct {
	Path  string `json:"path"`
	Bytes []byte `json:"path_bytes,omitempty"`
	Dir   bool   `json:"dir,omitempty"`
	Files int    `json:"files"`
}

func goneForm(f Outside) *goneJSON {
	if len(f.Items) == 0 && !f.More {
		return nil
	}
	out := &goneJSON{Files: f.Files, More: f.More, Names: []itemJSON{}}
	for _, i := range f.Items {
		n := NewName(i.Path)
		out.Names = append(out.Names, itemJSON{n.Text, n.Bytes, i.Dir, i.Files})
	}
	return out
}

type entryJSON struct {
	Tree      int           `json:"tree"` // index in trees
	Path      string        `json:"path"`
	PathBytes []byte        `json:"path_bytes,omitempty"`
	From      string        `json:"from,omitempty"` // of what was renamed
	FromBytes []byte        `json:"from_bytes,omitempty"`
	Kind      change.Kind   `json:"kind"`  // added, changed, deleted, mode, renamed
	State     State         `json:"state"` // waits, live
	Rank      hostexec.Rank `json:"rank"`  // unasked, asked, secret, source
	Text      string        `json:"text,omitempty"`
	Masked    bool          `json:"masked,omitempty"` // never written back
	Findings  []findingJSON `json:"findings,omitempty"`
	Old       *nodeJSON     `json:"old,omitempty"`
	New       *nodeJSON     `json:"new,omitempty"`
}

type findingJSON struct {
	Rank hostexec.Rank `json:"rank"`
	Who  string        `json:"who"`
	When string        `json:"when"`
	Why  string        `json:"why"`
	Line int           `json:"line,omitempty"`
}

type nodeJSON struct {
	Type      change.Type `json:"type"`
	Mode      string      `json:"mode"` // octal
	Size      int64       `json:"size,omitempty"`
	Hash      string      `json:"sha256,omitempty"`
	Link      string      `json:"link,omitempty"`
	LinkBytes []byte      `json:"link_bytes,omitempty"`
}

// JSON writes the report for programs.
func (r *Report) JSON() ([]byte, error) {
	w := r.Work
	j := reportJSON{Version: reportFormat, Session: w.ID, Agent: w.Agent, Project: NewName(w.Project).Text, Started: w.Started.UTC(),
		Trees: []placeJSON{}, Entries: []entryJSON{}, Lost: append([]string{}, r.Lost...), Notes: append([]string{}, r.Notes...)}
	j.Outside = goneForm(r.Outside)
	if !w.Ended.IsZero() {
		ended := w.Ended.UTC()
		j.Ended = &ended
	}
	for _, t := range w.Trees {
		n := NewName(t.Path)
		j.Trees = append(j.Trees, placeJSON{n.Text, n.Bytes, t.View})
	}
	for i := range r.Entries {
		j.Entries = append(j.Entries, r.Entries[i].form())
	}
	return json.MarshalIndent(j, "", "  ")
}

// Lists is the report in the parts that a summary for programs has.
type Lists struct {
	Trees   []placeJSON `json:"trees"`
	Changes []entryJSON `json:"changes"`        // live on the host; by rank, then tree, then path
	Waiting []entryJSON `json:"waiting"`        // for review
	More    int         `json:"more,omitempty"` // so many of both are not listed; `diff --json` has all
	NotKept lostJSON    `json:"not_kept"`
	Notes   []string    `json:"notes"`
}

type lostJSON struct {
	Undo    []string  `json:"undo"` // what undo will not bring back
	Outside *goneJSON `json:"outside,omitempty"`
}

// Lists has at most so many entries: those that matter most.
func (r *Report) Lists(most int) *Lists {
	out := &Lists{Trees: []placeJSON{}, Changes: []entryJSON{}, Waiting: []entryJSON{}, Notes: append([]string{}, r.Notes...),
		NotKept: lostJSON{append([]string{}, r.Lost...), goneForm(r.Outside)}}
	for _, t := range r.Work.Trees {
		n := NewName(t.Path)
		out.Trees = append(out.Trees, placeJSON{n.Text, n.Bytes, t.View})
	}
	entries := r.Entries
	if len(entries) > most {
		entries, out.More = entries[:most], len(entries)-most
	}
	for i := range entries {
		list := &out.Changes
		if entries[i].State == Waits {
			list = &out.Waiting
		}
		*list = append(*list, entries[i].form())
	}
	return out
}

func (e *Entry) form() entryJSON {
	p, from := NewName(e.Path), NewName(e.From)
	out := entryJSON{Tree: e.Tree, Path: p.Text, PathBytes: p.Bytes, From: from.Text, FromBytes: from.Bytes, Kind: e.Kind(),
		State: e.State, Rank: e.Rank, Text: e.Text, Masked: e.Masked, Old: nodeForm(e.Old), New: nodeForm(e.New)}
	for _, f := range e.Findings {
		out.Findings = append(out.Findings, findingJSON(f))
	}
	return out
}

func nodeForm(n *change.Node) *nodeJSON {
	if n == nil {
		return nil
	}
	link := NewName(n.Link)
	return &nodeJSON{Type: n.Type, Mode: fmt.Sprintf("%04o", n.Mode), Size: n.Size, Hash: n.Hash, Link: link.Text, LinkBytes: link.Bytes}
}
