package plan

import (
	"encoding/json"
	"testing"
)

// TestFilterWithoutTrees: the keeper's filter is loaded where a tree is live, and
// elsewhere only to hear of what is asked for.
func TestFilterWithoutTrees(t *testing.T) {
	for _, observe := range []bool{false, true} {
		in := Input{Session: "s", Hostname: "h", User: User{Name: "u", Home: "/home/u"}, Watch: []byte{1}, Observe: observe,
			Sizes: Sizes{1, 1, 1, 1}, Process: Process{Argv: []Raw{"true"}, Dir: "/home/u"}}
		p, err := Make(in)
		if err != nil {
			t.Fatal(err)
		}
		if (len(p.Watch) > 0) != observe {
			t.Errorf("observe %v: a filter of %d bytes", observe, len(p.Watch))
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(b); err != nil {
			t.Error(err)
		}
		p.Trees, p.Watch = []Tree{{Path: "/x"}}, nil
		if b, err = json.Marshal(p); err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(b); err == nil {
			t.Error("a tree without a filter is taken")
		}
	}
}
