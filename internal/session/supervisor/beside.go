package supervisor

import (
	"context"
	"errors"
	"sync"
)

// beside bounds what is done for a session on the host and not through its gate: tools are
// fetched, and MCP servers have hosts of their own. It ends, for good, where nothing is left
// of the network but the model.
type beside struct {
	mu   sync.Mutex
	over bool
	ends map[int]context.CancelFunc
	last int
}

var errBeside = errors.New("the network was taken away from this session, and what goes beside it too.\nGo on without it, and tell the human that you miss it")

// begin gives who does something the context to do it in; done is called when he has.
func (b *beside) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil, nil, errBeside
	}
	ctx, cancel := context.WithCancel(ctx)
	b.last++
	me := b.last
	if b.ends == nil {
		b.ends = map[int]context.CancelFunc{}
	}
	b.ends[me] = cancel
	return ctx, func() {
		b.mu.Lock()
		delete(b.ends, me)
		b.mu.Unlock()
		cancel()
	}, nil
}

// ended says that it is over.
func (b *beside) ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return errBeside
	}
	return nil
}

func (b *beside) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	for _, cancel := range b.ends {
		cancel()
	}
}
