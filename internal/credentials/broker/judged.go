package broker

import (
	"hash/maphash"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/credentials/modelapi"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/strictjson"
)

// Bounds of what is looked at on the way to a model.
const (
	// maxJudged is how many results are known again. A conversation is sent anew with
	// every request; what is forgotten is judged once more.
	maxJudged = 4096
	// maxNew is how much of one request is judged. That there was more is told.
	maxNew = 1 << 20
)

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

// judged judges what tools returned, each result once.
type judged struct {
	mu    sync.Mutex
	known map[uint64]bool
	old   []uint64 // in the order in which they came
	seed  maphash.Seed
}

// look judges what is new in a request.
func (j *judged) look(api modelapi.API, body []byte, tell func(injection.Report)) {
	left := maxNew
	whole := true
	api.Results(body, func(t strictjson.Text) {
		if !j.isNew(t) {
			return
		}
		whole = whole && t.Size() <= left
		text := t.Prefix(nil, left)
		left = max(0, left-len(text))
		if r := injection.Judge(reminders.Replace(string(text))); r.Hit() {
			tell(r)
		}
	})
	if !whole {
		tell(injection.Report{})
	}
}

// isNew remembers a text, and reports whether it was not known.
func (j *judged) isNew(t strictjson.Text) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known == nil {
		j.known, j.seed = map[uint64]bool{}, maphash.MakeSeed()
	}
	h := t.Hash(j.seed)
	if j.known[h] {
		return false
	}
	if len(j.old) >= maxJudged {
		delete(j.known, j.old[0])
		j.old = j.old[1:]
	}
	j.known[h] = true
	j.old = append(j.old, h)
	return true
}
