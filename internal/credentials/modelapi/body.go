package modelapi

import (
	"errors"

	"ringfence.dev/ringfence/internal/strictjson"
)

// MaxBody bounds a request. Anthropic takes no more, and no agent sends more.
const MaxBody = 32 << 20

// JudgeBody judges the body of a request that Judge has passed. What is not nil
// is a *Denied.
func (a API) JudgeBody(rule Rule, body []byte, allow Allow) error {
	if rule.body == nil {
		if len(body) > 0 {
			return a.deny("body", 400, "a body where there is none", "")
		}
		return nil
	}
	if len(body) > MaxBody {
		return a.deny("body", 413, "a body of more than 32 MiB", "")
	}
	err := strictjson.Walk(body, &judge{api: a, allow: allow, root: rule.body})
	var bad *strictjson.Error
	if errors.As(err, &bad) {
		return a.deny("body", 400, "a body that is not plain JSON ("+bad.Error()+")", "")
	}
	return err
}

// judge walks over a body and over what it may be at the same time.
type judge struct {
	api   API
	allow Allow
	root  *node
	open  []frame
	buf   []byte
}

// frame is an object or an array that is open. The elements of an array are
// judged as the array itself is: one of something and a list of it mean the same.
type frame struct {
	node  *node
	name  strictjson.Text
	array bool
}

// at returns what may stand at this place, and the name to quote if it does not.
func (j *judge) at(name strictjson.Text) (*node, strictjson.Text) {
	if len(j.open) == 0 {
		return j.root, name
	}
	top := j.open[len(j.open)-1]
	if top.array {
		return top.node, top.name
	}
	folded := j.fold(name)
	if n := top.node.members[string(folded)]; n != nil {
		return n, name
	}
	if top.node.closed {
		return closed, name
	}
	// Unknown things may be whole requests, such as what to do if this one fails.
	if n := j.root.members[string(folded)]; n != nil && top.node.members == nil {
		return n, name
	}
	if n := risky[string(folded)]; n != nil {
		return n, name
	}
	return unknown, name
}

// Enter implements jsonscan.Visitor.
func (j *judge) Enter(name strictjson.Text, kind strictjson.Kind) (bool, error) {
	n, name := j.at(name)
	if len(j.open) == 0 && kind != strictjson.Object {
		return false, j.api.deny("body", 400, "a body that is not an object", "")
	}
	if n.free {
		return false, nil
	}
	// An empty list asks for nothing. An empty object may.
	if n.denied && kind == strictjson.Object {
		return false, j.ask(n.needs, name)
	}
	j.open = append(j.open, frame{n, name, kind == strictjson.Array})
	return true, nil
}

// Leave implements jsonscan.Visitor.
func (j *judge) Leave() { j.open = j.open[:len(j.open)-1] }

// Scalar implements jsonscan.Visitor.
func (j *judge) Scalar(name strictjson.Text, s strictjson.Scalar) error {
	n, name := j.at(name)
	switch {
	case len(j.open) == 0:
		return j.api.deny("body", 400, "a body that is not an object", "")
	case n.free, s.Kind == strictjson.Null, s.Kind == strictjson.False:
		return nil
	case n.denied:
		return j.ask(n.needs, name)
	case s.Kind != strictjson.String:
		return nil
	}
	check := n.check
	if check == nil {
		check = noAddress
	}
	f, ok := check(s.Text)
	if ok {
		return nil
	}
	return j.ask(f, name)
}

// ask is nil if the feature is allowed. name is where the request asks for it.
func (j *judge) ask(f feature, name strictjson.Text) error {
	if j.allow.has(f) {
		return nil
	}
	return j.api.needs(f, string(name.Prefix(nil, maxQuote)))
}

// needs denies a request that asks for f under the given name.
func (a API) needs(f feature, name string) *Denied {
	if f == never {
		return a.deny("unknown", 400, "what it does not know (in "+quote(name)+")", "")
	}
	return a.deny(features[f].name, 400, features[f].what+" (in "+quote(name)+")",
		"allow "+features[f].name+" for this API in the policy, if you mean it")
}

// fold writes a name in the one form in which names are compared: lower case and
// no underscores or dashes. Letters that only Unicode folds into ASCII are folded
// too, as Go's parser does.
func (j *judge) fold(name strictjson.Text) []byte {
	const most = 256 // no name that we know is longer, and what is cut stays unknown
	j.buf = name.Prefix(j.buf[:0], most)
	out := j.buf[:0]
	for i := 0; i < len(j.buf); i++ {
		switch c := j.buf[i]; {
		case c == '_' || c == '-':
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		case c == 0xc5 && i+1 < len(j.buf) && j.buf[i+1] == 0xbf: // ſ
			out = append(out, 's')
			i++
		case c == 0xe2 && i+2 < len(j.buf) && j.buf[i+1] == 0x84 && j.buf[i+2] == 0xaa: // the sign for Kelvin
			out = append(out, 'k')
			i += 2
		default:
			out = append(out, c)
		}
	}
	return out
}
