package injection

import (
	"slices"
	"strings"
)

// Bounds of what is looked at.
const (
	// MaxText is how much of one text is looked at: its beginning and its end.
	MaxText = 4 << 20

	block   = 128 << 10
	overlap = 8 << 10
	near    = 700 // what stands within so many bytes is added up
	depth   = 2   // an encoded text in an encoded text
)

// Judge looks at a text that a tool, a page or a file brought in.
func Judge(text string) Report {
	r := Report{Whole: len(text) <= MaxText}
	if r.Whole {
		r.blocks(text, 0)
		return r
	}
	const tail = MaxText / 4
	r.blocks(text[:MaxText-tail], 0)
	r.blocks(text[len(text)-tail:], len(text)-tail)
	return r
}

// blocks judges a text piece by piece; the pieces overlap.
func (r *Report) blocks(text string, base int) {
	for at := 0; ; at += block - overlap {
		end := min(len(text), at+block)
		r.judge(text[at:end], base+at, seen, depth)
		if end == len(text) || len(r.Findings) >= maxFindings {
			return
		}
	}
}

// judge looks at one piece in every way.
func (r *Report) judge(text string, base, enough, deep int) {
	for _, f := range sum(text, enough) {
		f.At += base
		r.add(f)
	}
	for _, f := range characters(text) {
		f.At += base
		r.add(f)
	}
	for _, f := range links(text) {
		f.At += base
		r.add(f)
	}
	for _, p := range places(text) {
		if f := sum(p.text, unseen); len(f) > 0 {
			r.add(Finding{Kind: Hidden, At: base + p.at, Quote: f[0].Quote})
		}
	}
	if deep == 0 {
		return
	}
	for _, p := range encoded(text) {
		var inner Report
		inner.judge(p.text, 0, unseen, deep-1)
		if inner.Hit() {
			r.add(Finding{Kind: Encoded, At: base + p.at, Quote: inner.Findings[0].Quote})
		}
	}
}

// sum adds up what stands close together.
func sum(text string, enough int) (out []Finding) {
	ws := read(text)
	ms := matches(ws)
	ms = slices.DeleteFunc(ms, func(m match) bool { return m.shape.weight == 0 || talked(ws, m) && inQuotes(text, m.at) })
	for i := 0; i < len(ms); i++ {
		best := map[string]*match{}
		total := 0
		j := i
		for ; j < len(ms) && ms[j].at-ms[i].at <= near; j++ {
			m, was := &ms[j], 0
			if o := best[m.shape.name]; o != nil {
				if was = o.shape.weight; was >= m.shape.weight {
					continue
				}
			}
			best[m.shape.name] = m
			if total += m.shape.weight - was; total >= enough {
				break
			}
		}
		if total < enough {
			continue
		}
		top := &ms[j]
		for _, m := range best {
			if m.shape.weight > top.shape.weight || m.shape.weight == top.shape.weight && m.at < top.at {
				top = m
			}
		}
		out = append(out, Finding{Kind: top.shape.kind, At: int(top.at), Quote: quote(text[top.at:top.end])})
		i = j
		if len(out) >= maxFindings {
			break
		}
	}
	return out
}

// talked holds for a quotation beside words of somebody who writes about such texts.
func talked(ws []word, m match) bool {
	const around = 400
	i, _ := slices.BinarySearchFunc(ws, m.at-around, func(w word, at int32) int { return int(w.at - at) })
	for ; i < len(ws) && ws[i].at < m.end+around; i++ {
		if ws[i].is&mTalk != 0 {
			return true
		}
	}
	return false
}

// Orders reports whether a text that nobody is meant to see gives orders. It is
// stricter than Judge: one sign is enough.
func Orders(text string) bool {
	return len(matches(read(text[:min(len(text), MaxText)]))) > 0 || strings.Contains(text, "dangerously")
}
