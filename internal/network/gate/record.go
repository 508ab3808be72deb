package gate

import (
	"fmt"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/journal"
)

// recorder writes what the gate decided to the journal, and counts it.
type recorder struct {
	journal   *journal.Writer
	alarm     func(error)     // told of the first record that cannot be written; may be nil
	done      <-chan struct{} // closed when nobody is to wait any more
	tally     journal.Tally
	unwritten atomic.Int64
	flood     flood
}

// write fails where the journal does; the caller does not do then what it is about.
func (c *recorder) write(r journal.Record) error {
	if r.Kind == "" {
		r.Kind = journal.Net
	}
	if err := c.journal.Write(r); err != nil {
		err = fmt.Errorf("the journal cannot be written: %w", err)
		if c.unwritten.Add(1) == 1 && c.alarm != nil {
			c.alarm(err)
		}
		return err
	}
	c.tally.Add(r)
	return nil
}

// refuse records a denial, and waits where they come too fast.
func (c *recorder) refuse(r journal.Record) {
	pause := c.refuseNow(r)
	if pause <= 0 {
		return
	}
	select {
	case <-time.After(min(pause, longestPause)):
	case <-c.done:
	}
}

// refuseNow is the same for a caller that must not wait. It returns how long another
// would have to.
func (c *recorder) refuseNow(r journal.Record) time.Duration {
	write, pause := c.flood.take(&r, time.Now())
	if write {
		c.write(r) // it is refused in any case
	} else {
		c.tally.Add(r)
	}
	return pause
}

// close records the refusals that were only counted, and the end. It tells of what
// could not be written.
func (c *recorder) close(opened bool) (err error) {
	for _, r := range c.flood.rest() {
		c.write(r)
	}
	if opened {
		err = c.write(journal.Record{Event: journal.Gate, State: journal.Closed})
	}
	if n := c.unwritten.Load(); n > 0 && err == nil {
		err = fmt.Errorf("%d records could not be written; what they were about was refused, or had ended", n)
	}
	return err
}
