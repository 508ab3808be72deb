package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Crowd is many connections at once of which each says a little and then nothing.
type Crowd struct {
	Talk // of its steps, the first
	Size int
}

// crowd waits until all are closed by the other side. Done says that some are not.
func (at Where) crowd(ctx context.Context, c *Crowd) Answer {
	var open, failed atomic.Int64
	var wg sync.WaitGroup
	deadline, _ := ctx.Deadline()
	for range c.Size {
		wg.Go(func() {
			conn, err := at.dial(ctx, &c.Talk)
			if err != nil {
				failed.Add(1)
				return
			}
			defer conn.Close()
			conn.SetDeadline(deadline)
			if len(c.Steps) > 0 {
				conn.Write(c.Steps[0].Send)
			}
			var buf [512]byte
			for err == nil {
				_, err = conn.Read(buf[:])
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				open.Add(1)
			}
		})
	}
	wg.Wait()
	return Answer{Done: open.Load() > 0, Text: fmt.Sprintf("%d open, %d not connected", open.Load(), failed.Load())}
}
