package hostexec

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed hostexec.toml
var embedded []byte

// parse reads the data strictly: a mistake is an error that names file, line and key.
func parse(source string, text []byte) (*Rules, error) {
	d, err := decode(source, text)
	if err != nil {
		return nil, err
	}
	r := &Rules{
		hooks: d.git.hooks, env: d.env, byName: map[string][]fileRef{}, starred: new([256][]fileRef),
		whole: newIndex(128), names: newIndex(512), git: newIndex(32), rules: make([]*rule, 0, 1024), start: -1,
	}
	for i := range d.rules {
		if err := r.addRule(&d.rules[i]); err != nil {
			return nil, fmt.Errorf("%s: rule %d (%s): %w", source, i+1, d.rules[i].who, err)
		}
	}
	for i := range d.contents {
		if err := r.addContent(&d.contents[i]); err != nil {
			return nil, fmt.Errorf("%s: content %d (%s): %w", source, i+1, d.contents[i].who, err)
		}
	}
	r.addInner()
	return r, nil
}

func (r *Rules) addRule(d *ruleData) error {
	if d.who == "" || d.when == "" || d.why == "" || len(d.paths) == 0 {
		return errors.New("who, when, why and paths have to be there")
	}
	if d.hold && d.rank != Unasked {
		return errors.New("only what runs unasked is held")
	}
	where, err := parsePlace(d.within)
	if err != nil {
		return err
	}
	verdict := &Verdict{Rank: d.rank, Hold: d.hold, Who: d.who, When: d.when, Why: d.why}
	group := make([]rule, len(d.paths))
	for i, text := range d.paths {
		p, err := parsePattern(text)
		if err != nil {
			return fmt.Errorf("path %q: %w", text, err)
		}
		p.links, p.place = d.links, where
		one := &group[i]
		*one = rule{pattern: p, order: len(r.rules), verdict: verdict}
		r.rules = append(r.rules, one)
		r.indexFor(one).add(one)
	}
	return nil
}

func (r *Rules) indexFor(one *rule) *index {
	switch {
	case one.place == inGit:
		return r.git
	case one.whole:
		return r.whole
	}
	return r.names
}

// addInner covers the directories above held names: a link in the place of .claude
// leads to settings that nobody judged. A file there is held too, which costs
// nothing; but where the name is an ordinary word only links are.
func (r *Rules) addInner() {
	type inner struct {
		path string
		in   place
	}
	seen := map[inner]bool{}
	for _, held := range r.rules {
		for n := len(held.names) - 1; n > 0 && held.verdict.Hold; n-- {
			p := held.pattern
			p.names, p.whole = held.names[:n], false
			p.links = p.links || p.names[0][0] != '.' && p.place != inGit
			at := inner{strings.Join(p.names, "/"), p.place}
			if seen[at] && !p.rooted {
				continue
			}
			seen[at] = true
			one := &rule{pattern: p, verdict: held.verdict, order: len(r.rules)}
			r.indexFor(one).add(one)
		}
	}
}

func parsePlace(within string) (place, error) {
	switch within {
	case "":
		return anywhere, nil
	case "git":
		return inGit, nil
	case "no git":
		return outsideGit, nil
	}
	return anywhere, fmt.Errorf(`within is %q, not "git" or "no git"`, within)
}
