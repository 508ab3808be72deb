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
	w := &work{left: most(len(text))}
	if r.Whole {
		r.blocks(w, text, 0)
	} else {
		const tail = MaxText / 4
		r.blocks(w, text[:MaxText-tail], 0)
		r.blocks(w, text[len(text)-tail:], len(text)-tail)
	}
	r.Whole = r.Whole && !w.spent()
	r.steps = w.steps
	return r
}

// blocks judges a text piece by piece; the pieces overlap.
func (r *Report) blocks(w *work, text string, base int) {
	for at := 0; ; at += block - overlap {
		end := min(len(text), at+block)
		r.judge(w, text[at:end], base+at, seen, depth)
		if end == len(text) || len(r.Findings) >= maxFindings || w.spent() {
			return
		}
	}
}

// judge looks at one piece in every way.
func (r *Report) judge(w *work, text string, base, enough, deep int) {
	for _, f := range sum(w, text, enough) {
		f.At += base
		r.add(f)
	}
	for _, f := range characters(w, text) {
		f.At += base
		r.add(f)
	}
	for _, f := range links(w, text) {
		f.At += base
		r.add(f)
	}
	for _, p := range places(w, text) {
		if f := sum(w, p.text, unseen); len(f) > 0 {
			r.add(Finding{Kind: Hidden, At: base + p.at, Quote: f[0].Quote})
		}
	}
	if deep == 0 {
		return
	}
	for _, p := range encoded(w, text) {
		var inner Report
		inner.judge(w, p.text, 0, unseen, deep-1)
		if inner.Hit() {
			r.add(Finding{Kind: Encoded, At: base + p.at, Quote: inner.Findings[0].Quote})
		}
	}
}

// sum adds up what stands close together. The window moves on over each match once.
func sum(w *work, text string, enough int) (out []Finding) {
	if w.spent() {
		return nil
	}
	w.charge(len(text))
	ws := read(text)
	ms := matches(w, ws)
	talk := talks(ws)
	ms = slices.DeleteFunc(ms, func(m match) bool { return m.shape.weight == 0 || talked(talk, m) && inQuotes(text, m.at) })
	var in scale
	from := 0
	for j := range ms {
		w.charge(1)
		for ms[j].at-ms[from].at > near {
			in.take(ms[from].shape, -1)
			from++
		}
		if in.take(ms[j].shape, 1); in.total() < enough {
			continue
		}
		top := &ms[from]
		for i := range ms[from : j+1] {
			if m := &ms[from+i]; m.shape.weight > top.shape.weight {
				top = m
			}
		}
		out = append(out, Finding{Kind: top.shape.kind, At: int(top.at), Quote: said(text, ws, *top)})
		if in, from = (scale{}), j+1; len(out) >= maxFindings {
			break
		}
	}
	return out
}

// talks are the places of words with which somebody writes about such texts.
func talks(ws []word) (out []int32) {
	for i := range ws {
		if ws[i].is&mTalk != 0 {
			out = append(out, ws[i].at)
		}
	}
	return out
}

// talked holds for a match beside such a word.
func talked(talk []int32, m match) bool {
	const around = 400
	i, _ := slices.BinarySearch(talk, m.at-around)
	return i < len(talk) && talk[i] < m.end+around
}

// Orders reports whether a text that nobody is meant to see gives orders. It is
// stricter than Judge: one sign is enough.
func Orders(text string) bool {
	return len(matches(&work{left: most(len(text))}, read(text[:min(len(text), MaxText)]))) > 0 || strings.Contains(text, "dangerously")
}
