package command

import (
	"fmt"
	"sync"
	"time"
)

// What takes less is not worth a line, and what changes faster cannot be read.
const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
)

// Progress tells on stderr how far something is, if it takes longer than a second and
// somebody looks. step says how much is done; total may be 0 where nobody knows it.
// done takes the line away, before anything else is printed; it may be called twice.
func (c *Console) Progress(what string, total int) (step func(n int), done func()) {
	if !c.capable(c.Err) {
		return func(int) {}, func() {}
	}
	p := &counter{what: Inert(what), total: total, began: time.Now(), over: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.watch(p)
	}()
	var once sync.Once
	return p.set, func() { once.Do(func() { close(p.over); <-ended }) }
}

// counter is what one line of progress shows.
type counter struct {
	mu       sync.Mutex
	what     string
	n, total int
	began    time.Time
	over     chan struct{}
}

func (p *counter) set(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n = n
}

func (p *counter) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := ""
	switch {
	case p.total > 0:
		count = fmt.Sprintf("%d of %d, ", p.n, p.total)
	case p.n > 0:
		count = fmt.Sprintf("%d, ", p.n)
	}
	return fmt.Sprintf("ringfence: %s: %s%s", p.what, count, time.Since(p.began).Round(time.Second))
}

// watch draws the line until the end, and takes it away.
func (c *Console) watch(p *counter) {
	late := time.NewTimer(progressAfter)
	defer late.Stop()
	select {
	case <-p.over:
		return
	case <-late.C:
	}
	again := time.NewTicker(progressEvery)
	defer again.Stop()
	for {
		line := wrapCell(p.String(), Columns(c.Err)-1, true)[0]
		fmt.Fprintf(c.Err, "\r\x1b[K%s", line)
		select {
		case <-p.over:
			fmt.Fprint(c.Err, "\r\x1b[K")
			return
		case <-again.C:
		}
	}
}
