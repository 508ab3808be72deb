package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// watch compares what a server tells of itself with what is pinned. The proxy's lock
// guards it.
type watch struct {
	p     *Proxy
	open  bool  // this is the first sight, and the first list has not come to an end
	seen  Items // of the list that is being read
	drift Items // what is not as it was pinned
	pins  *Record
}

func newWatch(p *Proxy) (*watch, error) {
	r, err := p.Book.Load()
	if err != nil {
		return nil, err
	}
	w := &watch{p: p, open: r == nil || !r.Listed, seen: Items{}, drift: Items{}}
	if r != nil {
		for _, c := range r.Drift() { // nobody has looked since the last time
			w.drift[c.Name] = c.Is
		}
	}
	return w, nil
}

// maxText bounds the instructions of a server, which come before any list.
const maxText = 1 << 20

// greeting judges the answer to initialize: the instructions in it go to the model.
func (w *watch) greeting(result json.RawMessage) (why string) {
	var top map[string]json.RawMessage
	if json.Unmarshal(result, &top) != nil {
		return "ringfence: the server's answer to initialize is no object"
	}
	for name := range top {
		if name != "instructions" && strings.EqualFold(name, "instructions") {
			return "ringfence: the server's answer to initialize has instructions under another name"
		}
	}
	text := `""`
	if raw := top["instructions"]; raw != nil && string(raw) != "null" {
		var err error
		if text, err = Canonical(raw); err != nil || len(text) > maxText || text[0] != '"' {
			return "ringfence: the server's instructions are no text, or too long"
		}
	}
	return w.compare(Items{Instructions: text}, false)
}

// page judges one page of a list of tools.
func (w *watch) page(result json.RawMessage, cursor bool) (why string) {
	items, more, err := tools(result)
	if err != nil {
		w.p.tell("list", "a list of tools cannot be read, and it was refused: "+err.Error())
		return "ringfence: the server's list of tools: " + err.Error()
	}
	if !cursor {
		w.seen = Items{}
	}
	for name := range items {
		if _, twice := w.seen[name]; twice && cursor {
			return fmt.Sprintf("ringfence: the server lists the tool %q twice", name)
		}
	}
	maps.Copy(w.seen, items)
	if len(w.seen) > MaxItems {
		return "ringfence: the server lists too many tools"
	}
	why = w.compare(items, true)
	if !more && !w.open {
		w.missed()
	}
	if !more && w.open {
		w.open = false
		w.p.tell("first", fmt.Sprintf("first sight: %d tools pinned, digest %.12s", len(w.seen), w.digest()))
	}
	return why
}

// tools reads one page. Names that a careless reader could take for others are refused.
func tools(result json.RawMessage) (items Items, more bool, err error) {
	var top map[string]json.RawMessage
	var list []json.RawMessage
	if json.Unmarshal(result, &top) != nil || json.Unmarshal(top["tools"], &list) != nil {
		return nil, false, errors.New("it is no list")
	}
	if len(list) > MaxItems {
		return nil, false, errors.New("it is too long")
	}
	more = top["nextCursor"] != nil && string(top["nextCursor"]) != "null"
	items = Items{}
	for _, raw := range list {
		var tool map[string]json.RawMessage
		var name string
		if json.Unmarshal(raw, &tool) != nil || json.Unmarshal(tool["name"], &name) != nil || name == "" || len(name) > maxID {
			return nil, false, errors.New("a tool has no name")
		}
		if _, twice := items[name]; twice {
			return nil, false, fmt.Errorf("the tool %q stands in it twice", name)
		}
		if items[name], err = Canonical(raw); err != nil {
			return nil, false, err
		}
	}
	return items, more, nil
}

// compare holds items against the pins, or pins them at first sight. What it returns is
// for the agent to read in their place.
func (w *watch) compare(items Items, list bool) (why string) {
	for _, name := range slices.Sorted(maps.Keys(items)) {
		if hidden := Hidden(items[name]); hidden != nil {
			w.p.tell("hidden", fmt.Sprintf("%s: characters that nobody sees and a model reads: %s", Subject(name), strings.Join(hidden, " ")))
		}
	}
	var changes []Change
	var err error
	w.pins, err = w.p.Book.Update(func(r *Record) *Record {
		if r == nil {
			r = &Record{Seen: time.Now().UTC().Truncate(time.Second), Accepted: Items{}}
		}
		news := list && !r.Listed
		r.Listed = r.Listed || list
		if changes = Compare(r.Accepted, items); len(changes) == 0 {
			return settle(r, items, news)
		}
		if w.open && fresh(changes) {
			maps.Copy(r.Accepted, items)
			changes = nil
			return r
		}
		if r.Offered == nil {
			r.Offered = Items{}
		}
		for _, c := range changes {
			r.Offered[c.Name] = c.Is
		}
		return r
	})
	if err != nil {
		w.p.tell("book", "pins cannot be kept: "+err.Error())
		return "ringfence: what the server tells of itself cannot be compared: " + err.Error()
	}
	for name := range items {
		delete(w.drift, name)
	}
	for _, c := range changes {
		w.drift[c.Name] = c.Is
		w.p.tell("drift", c.String()+" since it was pinned")
	}
	return w.refusal()
}

// settle forgets an offer that was taken back; nil if there is nothing to write.
func settle(r *Record, items Items, news bool) *Record {
	n := len(r.Offered)
	for name := range items {
		delete(r.Offered, name)
	}
	if len(r.Offered) == n && !news {
		return nil
	}
	return r
}

// fresh holds for changes that only add.
func fresh(changes []Change) bool {
	return !slices.ContainsFunc(changes, func(c Change) bool { return c.Was != "" })
}

func (w *watch) digest() string {
	if w.pins == nil {
		return ""
	}
	return w.pins.Accepted.Digest()
}

// missed tells of tools that are gone. Nobody is harmed by them.
func (w *watch) missed() {
	r, err := w.p.Book.Load()
	if err != nil || r == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.Accepted)) {
		if _, there := w.seen[name]; !there && name != Instructions {
			w.p.tell("gone", Change{Name: name, Was: r.Accepted[name]}.String()+" since it was pinned")
		}
	}
}

// refusal is what the agent reads while something drifted.
func (w *watch) refusal() string {
	if len(w.drift) == 0 || !w.p.Refuse {
		return ""
	}
	return fmt.Sprintf("ringfence: the tools of the MCP server %s are not those that were pinned; a person has to look at them, on the host: ringfence mcp trust %[1]s", w.p.Name)
}

// blocked is why a tool may not be called now. Somebody may have trusted the change
// meanwhile.
func (w *watch) blocked() string {
	if w.refusal() == "" {
		return ""
	}
	r, err := w.p.Book.Load()
	if err != nil || r == nil {
		return w.refusal()
	}
	for name, text := range w.drift {
		if r.Accepted[name] == text {
			delete(w.drift, name)
		}
	}
	return w.refusal()
}
