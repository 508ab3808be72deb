package upstream

import "context"

// Large is from where on a document is large: read and taken apart it needs ten times as
// much memory as it has bytes.
const Large = 1 << 20

// Room is how many large documents are in memory at once. nil: any number.
type Room chan struct{}

// NewRoom has places for so many.
func NewRoom(places int) Room { return make(Room, places) }

// place is what one request has of a room: one place, however many documents it reads.
// What it reads one after the other must not wait for itself.
type place struct {
	room  Room
	taken bool
}

type placeKey struct{}

// Enter lets a request read documents. It takes a place when the first large one comes,
// and gives it back when leave is called, once all of it is answered.
func (r Room) Enter(ctx context.Context) (in context.Context, leave func()) {
	if r == nil {
		return ctx, func() {}
	}
	p := &place{room: r}
	return context.WithValue(ctx, placeKey{}, p), func() {
		if p.taken {
			<-r
		}
	}
}

// take waits for the place of a request that meets a large document.
func take(ctx context.Context) error {
	p, ok := ctx.Value(placeKey{}).(*place)
	if !ok || p.taken {
		return nil
	}
	select {
	case p.room <- struct{}{}:
		p.taken = true
		return nil
	case <-ctx.Done():
		return &Failure{Why: "nobody waited for the answer"}
	}
}
