package ssh

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/parcel"
)

// Before the link begins the two ends speak in frames: four bytes of length, and JSON. What
// the other machine says must be, byte for byte, what we would have written.

// order is what this end says.
type order struct {
	Do      string       `json:"do"`
	Session string       `json:"session,omitempty"`
	List    *parcel.List `json:"list,omitempty"`
	Terms   *terms       `json:"terms,omitempty"`
	Wait    bool         `json:"wait,omitempty"` // fetch: until the session has ended
}

// terms are what a session stays by when its link is lost.
type terms struct {
	Secret []byte        `json:"secret"` // of who may take it up again
	Keep   time.Duration `json:"keep"`   // how long it stands still; negative: nothing of it is left
	Seal   []byte        `json:"seal"`   // the public key for what it changed
}

// check refuses terms that nobody can stay by.
func (t *terms) check() error {
	if t == nil || len(t.Secret) != secretSize || len(t.Seal) == 0 {
		return errors.New("a session without terms")
	}
	return nil
}

const secretSize = 32

// The orders.
const (
	doProbe = "probe" // try every wall, and tell
	doStay  = "stay"  // take a parcel; then the link begins

	doResume = "resume" // lead to a session that stays here; then the link goes on
	doFetch  = "fetch"  // give what a session left
	doForget = "forget" // remove that
)

// answer is what the other machine says. It has one of these.
type answer struct {
	Hello  *hello             `json:"hello,omitempty"`
	Probed []hostfacts.Result `json:"probed,omitempty"`
	Needs  []byte             `json:"needs,omitempty"`
	Ready  *ready             `json:"ready,omitempty"`
	State  string             `json:"state,omitempty"`
	Left   *left              `json:"left,omitempty"`
	Failed string             `json:"failed,omitempty"`
}

// What can be there of a session that stays.
const (
	stateLives = "lives" // it stays, and what follows leads to it
	stateLeft  = "left"  // it has ended, and what it changed waits
	stateGone  = "gone"  // nothing

	stateUnsealed = "unsealed" // as stateLeft, but nobody sealed it
)

// left is what a session left. The bytes of each layer follow.
type left struct {
	Sizes    []int64 `json:"sizes"`
	Unsealed bool    `json:"unsealed,omitempty"` // they are layers as they lie there
}

// hello is what it has.
type hello struct {
	Sum      string `json:"sum"` // of the program that runs there, by its own word
	Arch     string `json:"arch"`
	Kernel   string `json:"kernel"`
	Landlock int    `json:"landlock"`
	Path     string `json:"path"`
	System   []node `json:"system"`
}

// node is one existing name of it.
type node struct {
	Path string `json:"path"`
	Link string `json:"link,omitempty"`
	Real string `json:"real"`
}

// ready is where the session is there.
type ready struct {
	Dir  string `json:"dir"`  // of the trees
	Self string `json:"self"` // our program
}

// Bounds of an answer.
const (
	maxHello  = 256 << 10
	maxProbed = 64 << 10
	maxNeeds  = parcel.MaxEntries/8*2 + 1<<10
	maxReady  = 16 << 10
	maxText   = 2 << 10
)

// wrong is something that an honest far end never says.
type wrong string

func (w wrong) Error() string {
	return "the other machine says what no ringfence says: " + string(w)
}

// writeFrame writes one frame.
func writeFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > parcel.MaxList {
		return &parcel.Full{What: fmt.Sprintf("%d MB of names", parcel.MaxList>>20)}
	}
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(body)))
	if _, err = w.Write(head[:]); err == nil {
		_, err = w.Write(body)
	}
	return err
}

// readFrame reads one frame of at most so many bytes. Memory follows what comes.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > int64(most) {
		return nil, wrong(fmt.Sprintf("%d bytes at once", n))
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, n); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// parse reads an answer.
func parse(body []byte) (answer, error) {
	var a answer
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return answer{}, wrong("no answer")
	}
	if again, err := json.Marshal(a); err != nil || !bytes.Equal(again, body) {
		return answer{}, wrong("an answer in another form")
	}
	n := 0
	for _, has := range []bool{a.Hello != nil, a.Probed != nil, a.Needs != nil, a.Ready != nil, a.State != "", a.Left != nil, a.Failed != ""} {
		if has {
			n++
		}
	}
	if n > 1 {
		return answer{}, wrong("two answers")
	}
	return a, nil
}

// check refuses what no machine has that a plan can be made for.
func (h *hello) check(sum, arch string) error {
	if h == nil {
		return wrong("something else than what it has")
	}
	if h.Sum != sum {
		return wrong("it runs another program than was sent")
	}
	if h.Arch != arch {
		return wrong("it has another processor than it had")
	}
	if h.Landlock < 0 || h.Landlock > 1000 {
		return wrong("a version of Landlock")
	}
	if len(h.Kernel) > 200 || !plain(h.Kernel) || len(h.Path) > 8<<10 || !plain(h.Path) {
		return wrong("a kernel or a PATH")
	}
	known := hostfacts.ImagePaths()
	last := -1
	for _, n := range h.System {
		i := slices.Index(known, n.Path)
		if i <= last {
			return wrong(fmt.Sprintf("%q of an operating system", n.Path))
		}
		last = i
		if !clean(n.Real) || len(n.Link) > 4<<10 || !plain(n.Link) {
			return wrong(fmt.Sprintf("where %q leads", n.Path))
		}
	}
	if len(h.System) == 0 {
		return errors.New("the other machine has nothing of an operating system")
	}
	return nil
}

// clean holds for a path that can be written in one way only.
func clean(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && len(p) < 4096 && plain(p)
}

// plain holds for text that people can be shown.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (r *ready) check() error {
	if r == nil || !clean(r.Dir) || !clean(r.Self) || r.Dir == "/" {
		return wrong("no place for the session")
	}
	return nil
}

// probed takes what the machine says of its walls: of each one that we know whether it stands.
// Every text is ours. What helps there is found there, by who trusts that machine.
func probed(in []hostfacts.Result) ([]hostfacts.Result, error) {
	names := hostfacts.Tried()
	if len(in) != len(names) {
		return nil, wrong("no walls")
	}
	out := make([]hostfacts.Result, len(in))
	for i, name := range names {
		if in[i].Name != name {
			return nil, wrong("another wall than is due")
		}
		out[i] = hostfacts.Result{Name: name, Status: in[i].Status, Detail: "by its own word"}
		switch in[i].Status {
		case hostfacts.OK:
		case hostfacts.Degraded, hostfacts.Unusable:
			out[i].Fix = "run `ringfence doctor` on that machine"
		default:
			return nil, wrong("a state of its walls")
		}
	}
	return out, nil
}
