package serviceapi

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxAnswer is how much of an answer is read for ids; maxKnown how many are kept.
const (
	maxAnswer = 8 << 20
	maxKnown  = 20000
)

// belongs says which fields of a type lead to something of the same repository.
// Only along these are ids learned: owner, parent, forks and references lead out
// of it.
var belongs = map[string]map[string]string{
	"Repository": {
		"pullRequest": "Item", "pullRequests": "Items", "issue": "Item", "issues": "Items", "issueOrPullRequest": "Item",
	},
	"Items":    {"nodes": "Item", "edges": "ItemEdge"},
	"ItemEdge": {"node": "Item"},
	"Item":     {"comments": "Remarks", "reviews": "Remarks"},
	"Remarks":  {"nodes": "Remark", "edges": "RemarkEdge"},

	"RemarkEdge": {"node": "Remark"},

	// What mutations answer with.
	"createPullRequest": {"pullRequest": "Item"},
	"createIssue":       {"issue": "Item"},
	"addComment":        {"commentEdge": "RemarkEdge"},
}

// identified are the types whose id is worth knowing.
var identified = []string{"Repository", "Item", "Remark"}

// trail is what of an answer is looked at: keys that hold an id, and keys that
// lead on. The keys are the asker's choice, so they come from the document: "id"
// in an answer may be an alias for the text of a comment.
type trail struct {
	ids  []string
	next map[string]*trail
}

// tracer makes trails of one document.
type tracer struct {
	repos  []string
	doc    *document
	vars   object
	budget int // of selections, over all; a document can multiply its fragments
}

// learner returns what reads ids from the answer, or nil where the request asks
// for none.
func (s *Service) learner(doc *document, vars object) func([]byte) {
	t := &tracer{repos: s.config.Repos, doc: doc, vars: vars, budget: maxTokens}
	top := &trail{next: map[string]*trail{}}
	for key, fields := range t.group(doc.sels) {
		if kind := t.root(fields); kind != "" {
			top.next[key] = t.trail(kind, fields)
		}
	}
	if len(top.next) == 0 || t.budget < 0 {
		return nil
	}
	return func(body []byte) {
		var answer struct{ Data any }
		if len(body) <= maxAnswer && json.Unmarshal(body, &answer) == nil {
			top.follow(answer.Data, s.learn)
		}
	}
}

func (s *Service) learn(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" && len(id) <= 200 && len(s.known) < maxKnown {
		s.known[id] = true
	}
}

// group expands fragments and sorts fields by the key that holds their answer.
func (t *tracer) group(sels []selection) map[string][]selection {
	out := map[string][]selection{}
	var add func([]selection, int)
	add = func(sels []selection, depth int) {
		for _, sel := range sels {
			if depth > maxDepth { // what is not seen could change what a key means
				t.budget = 0
			}
			if t.budget--; t.budget < 0 {
				return
			}
			switch {
			case sel.field != "":
				out[sel.key] = append(out[sel.key], sel)
			case sel.spread != "":
				add(t.doc.fragments[sel.spread].sels, depth+1)
			default:
				add(sel.sels, depth+1)
			}
		}
	}
	add(sels, 0)
	return out
}

// root says of what type the answer to a field at the top is, or "" where it is
// not about a repository of the session. Mutations were judged before.
func (t *tracer) root(fields []selection) string {
	if !same(fields) {
		return ""
	}
	if field := fields[0].field; t.doc.kind == "mutation" {
		return field
	}
	if slices.ContainsFunc(fields, func(sel selection) bool { return !t.mine(sel) }) {
		return ""
	}
	return "Repository"
}

// same reports whether one key stands for one field only.
func same(fields []selection) bool {
	return !slices.ContainsFunc(fields, func(sel selection) bool { return sel.field != fields[0].field })
}

func (t *tracer) mine(sel selection) bool {
	owner, label := t.value(sel.args["owner"]), t.value(sel.args["name"])
	return sel.field == "repository" && !strings.Contains(owner, "/") && slices.ContainsFunc(t.repos, func(repo string) bool {
		return lowerASCII(repo) == lowerASCII(owner+"/"+label)
	})
}

// value resolves an argument to a string, "" where it is none; a variable that
// is not given has its default.
func (t *tracer) value(v any) string {
	if label, ok := v.(variable); ok {
		given, has := t.vars[string(label)]
		if v = given; !has {
			v = t.doc.defaults[string(label)]
		}
	}
	s, _ := v.(string)
	return s
}

func (t *tracer) trail(kind string, fields []selection) *trail {
	var sels []selection
	for _, f := range fields {
		sels = append(sels, f.sels...)
	}
	out := &trail{next: map[string]*trail{}}
	for key, fields := range t.group(sels) {
		if !same(fields) {
			continue
		}
		if fields[0].field == "id" && slices.Contains(identified, kind) {
			out.ids = append(out.ids, key)
		} else if next := belongs[kind][fields[0].field]; next != "" {
			out.next[key] = t.trail(next, fields)
		}
	}
	return out
}

// follow reports the ids in an answer.
func (t *trail) follow(answer any, found func(string)) {
	switch a := answer.(type) {
	case []any:
		for _, e := range a {
			if _, list := e.([]any); !list { // no answer nests lists
				t.follow(e, found)
			}
		}
	case map[string]any:
		for _, key := range t.ids {
			if id, ok := a[key].(string); ok {
				found(id)
			}
		}
		for key, next := range t.next {
			next.follow(a[key], found)
		}
	}
}
