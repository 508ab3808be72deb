package gate

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// errBudget is an upload that went beyond what policy allows for its host.
var errBudget = errors.New("the upload budget of this host is spent")

// budgets counts what is sent to hosts that have a budget. One is shared by all
// connections of a session to that host.
type budgets struct {
	rules []policy.Budget
	mu    sync.Mutex
	used  map[address.Name]*budget
}

type budget struct{ left atomic.Int64 }

// of returns the budget of a target, or nil if it has none.
func (b *budgets) of(t address.Target) *budget {
	if len(b.rules) == 0 || t.Name == "" {
		return nil
	}
	var rule *policy.Budget
	for i := range b.rules {
		if r := &b.rules[i]; r.Rule.Covers(t.Name) && (rule == nil || r.Bytes < rule.Bytes) {
			rule = r
		}
	}
	if rule == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == nil {
		b.used = map[address.Name]*budget{}
	}
	have := b.used[t.Name]
	if have == nil {
		have = &budget{}
		have.left.Store(rule.Bytes)
		b.used[t.Name] = have
	}
	return have
}

// take spends n bytes, all or none.
func (b *budget) take(n int) bool {
	if b.left.Add(-int64(n)) < 0 {
		b.left.Add(int64(n))
		return false
	}
	return true
}

// writer passes on what the budget allows.
func (b *budget) writer(w io.Writer) io.Writer { return budgetWriter{b, w} }

// under spends of the budget what was looked at and let pass; there may be none.
func (b *budget) under(look func([]byte) error) func([]byte) error {
	if b == nil {
		return look
	}
	return func(p []byte) error {
		if look != nil {
			if err := look(p); err != nil {
				return err
			}
		}
		if !b.take(len(p)) {
			return errBudget
		}
		return nil
	}
}

type budgetWriter struct {
	b *budget
	w io.Writer
}

func (w budgetWriter) Write(p []byte) (int, error) {
	if !w.b.take(len(p)) {
		return 0, errBudget
	}
	return w.w.Write(p)
}
