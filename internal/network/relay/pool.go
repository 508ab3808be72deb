package relay

import "golang.org/x/sys/unix"

const (
	spares   = 8  // buffers and pipes that are kept for the next flow
	maxPipes = 32 // at once; a flow that gets none uses a buffer
)

// pipe is what a splice needs between two sockets.
type pipe struct{ r, w int }

// pool lends buffers and pipes to the flows of one loop.
type pool struct {
	buffers [][]byte
	pipes   []*pipe
	lent    int // pipes
}

func (o *pool) takeBuffer() []byte {
	n := len(o.buffers)
	if n == 0 {
		return make([]byte, chunk)
	}
	b := o.buffers[n-1]
	o.buffers = o.buffers[:n-1]
	return b
}

func (o *pool) giveBuffer(b []byte) {
	if len(o.buffers) < spares {
		o.buffers = append(o.buffers, b)
	}
}

// takePipe returns nil if too many are lent, or no descriptors are left.
func (o *pool) takePipe() *pipe {
	if o.lent == maxPipes {
		return nil
	}
	if n := len(o.pipes); n > 0 {
		p := o.pipes[n-1]
		o.pipes = o.pipes[:n-1]
		o.lent++
		return p
	}
	var fds [2]int
	if unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		return nil
	}
	// Where the user has too many pipes it stays small, and works.
	_, _ = unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, large)
	o.lent++
	return &pipe{r: fds[0], w: fds[1]}
}

// givePipe keeps an empty pipe for the next flow. One that is not empty would hand
// its bytes to another pair.
func (o *pool) givePipe(p *pipe, empty bool) {
	o.lent--
	if empty && len(o.pipes) < spares {
		o.pipes = append(o.pipes, p)
		return
	}
	p.close()
}

func (p *pipe) close() {
	_ = unix.Close(p.r)
	_ = unix.Close(p.w)
}

func (o *pool) shut() {
	for _, p := range o.pipes {
		p.close()
	}
}
