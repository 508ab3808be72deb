package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// result is one target and what was measured for it.
type result struct {
	what, measured, target string
	met                    bool
}

func (b *bench) add(what string, met bool, target, format string, args ...any) {
	b.results = append(b.results, result{what, fmt.Sprintf(format, args...), target, met})
}

// note is a row without a target.
func (b *bench) note(what, format string, args ...any) { b.add(what, true, "", format, args...) }

func (b *bench) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range b.results {
		verdict := map[bool]string{true: "PASS", false: "MISS"}[r.met]
		if r.target == "" {
			verdict = ""
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.what, r.measured, r.target, verdict)
	}
	t.Flush()
}

// times are the durations of one command, in seconds.
type times []float64

func (t times) median() float64 {
	s := slices.Sorted(slices.Values(t))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func (t times) min() float64 { return slices.Min(t) }

// ratio compares two series taken in turns: by their medians, and by their minima,
// to which whatever else the machine does adds least.
func ratio(a, b times) (median, least float64) { return a.median() / b.median(), a.min() / b.min() }
