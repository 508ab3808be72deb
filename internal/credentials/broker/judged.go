package broker

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/credentials/modelapi"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/strictjson"
)

// Bounds of what is looked at on the way to a model.
const (
	// maxJudged is how many results are known again beside those of the request at hand. A
	// conversation is sent anew with every request; what is forgotten is judged once more.
	maxJudged = 1 << 16
	// maxNew is how much of one request is judged. That there was more is told, and it is
	// judged with the next request that has it.
	maxNew = 4 << 20
	// maxTold is how many findings of one request are told.
	maxTold = 16
)

// judging bounds how many requests are judged at once: the time is the supervisor's.
var judging = make(chan struct{}, 2)

// reminders are sentences that Claude Code itself adds to results. Each is taken out as it
// is, and nothing around it.
var reminders = strings.NewReplacer(
	"DO NOT mention this to the user explicitly because they are already aware.", "",
	"Don't tell the user this, since they are already aware.", "",
	"Don't tell the user about this truncation.", "",
	"NEVER mention this reminder to the user", "",
	"do not mention to user.", "",
	"Do not mention this reminder;", "",
	"You are now running as", "",
)

// told is what is known of a result when its verdict is.
var told = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// judged judges what tools returned, each result once.
type judged struct {
	mu    sync.Mutex
	known map[uint64]chan struct{} // told, or closed when it comes
	seed  maphash.Seed
}

// result is what one tool returned.
type result struct {
	texts []strictjson.Text
	sum   uint64
	done  chan struct{}
}

// look judges what is new in a request, and tells of it once. It returns when everything
// in it has been judged and told, by whomever: the model reads nothing before that. An
// error is that of ctx.
func (j *judged) look(ctx context.Context, api modelapi.API, body []byte, tell func(injection.Report)) error {
	var all []*result
	api.Results(body, func(texts []strictjson.Text) { all = append(all, &result{texts: texts}) })
	slices.Reverse(all) // the newest are what the model has not read yet
	j.number(all)
	for len(all) > 0 {
		mine, others := j.claim(all)
		if err := j.judge(ctx, mine, tell); err != nil {
			return err
		}
		for _, r := range others {
			select {
			case <-r.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		all = others // whoever had them may have given up
	}
	return nil
}

// number gives each result the number by which it is known again.
func (j *judged) number(all []*result) {
	j.mu.Lock()
	if j.known == nil {
		j.known, j.seed = map[uint64]chan struct{}{}, maphash.MakeSeed()
	}
	j.mu.Unlock()
	for _, r := range all {
		var h maphash.Hash
		h.SetSeed(j.seed)
		for _, t := range r.texts {
			maphash.WriteComparable(&h, t.Hash(j.seed))
		}
		r.sum = h.Sum64()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.known) <= maxJudged {
		return
	}
	now := make(map[uint64]bool, len(all))
	for _, r := range all {
		now[r.sum] = true
	}
	maps.DeleteFunc(j.known, func(sum uint64, done chan struct{}) bool { return !now[sum] && done == told })
}

// claim takes the results that nobody has judged, and tells which ones somebody is judging.
func (j *judged) claim(all []*result) (mine, others []*result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ours := make(chan struct{})
	for _, r := range all {
		done, ok := j.known[r.sum]
		switch {
		case !ok:
			r.done = ours
			j.known[r.sum] = r.done
			mine = append(mine, r)
		case done != told:
			r.done = done
			others = append(others, r)
		}
	}
	return mine, others
}

// judge judges results that are new, the first ones first. What it did not come to is
// forgotten, so that it is judged when it comes again.
func (j *judged) judge(ctx context.Context, mine []*result, tell func(injection.Report)) error {
	if len(mine) == 0 {
		return nil
	}
	n := 0 // so many were judged
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		for i, r := range mine {
			if j.known[r.sum] = told; i >= n {
				delete(j.known, r.sum)
			}
		}
		close(mine[0].done) // one for all
	}()
	select {
	case judging <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	out := injection.Report{Whole: true}
	n = look(ctx, mine, &out)
	<-judging
	if ctx.Err() != nil {
		n = 0 // nothing was told
		return ctx.Err()
	}
	if out.Hit() || !out.Whole {
		tell(out)
	}
	return nil
}

// look judges as many results as one request may cost.
func look(ctx context.Context, mine []*result, out *injection.Report) int {
	left := maxNew
	for i, r := range mine {
		size := 0
		for _, t := range r.texts {
			size += t.Size()
		}
		if size > left && i > 0 || ctx.Err() != nil {
			out.Whole = false
			return i
		}
		left -= size
		text := make([]byte, 0, size)
		for _, t := range r.texts {
			text = append(t.Append(text), "\n\n"...)
		}
		got := injection.Judge(reminders.Replace(string(text)))
		out.Whole = out.Whole && got.Whole
		out.Findings = append(out.Findings, got.Findings[:min(len(got.Findings), maxTold-len(out.Findings))]...)
	}
	return len(mine)
}
