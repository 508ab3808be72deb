package link

// ring holds bytes that were received and not yet read. It grows with what comes, to the
// next power of two.
type ring struct {
	b           []byte
	start, size int
}

const smallestRing = 512

func (r *ring) put(p []byte) {
	if need := r.size + len(p); need > len(r.b) {
		n := max(smallestRing, len(r.b))
		for n < need {
			n *= 2
		}
		b := make([]byte, n)
		r.copyOut(b)
		r.b, r.start = b, 0
	}
	at := (r.start + r.size) & (len(r.b) - 1)
	n := copy(r.b[at:], p)
	copy(r.b, p[n:])
	r.size += len(p)
}

// copyOut copies from the front without removing.
func (r *ring) copyOut(p []byte) int {
	n := copy(p, r.front())
	if n < r.size && n < len(p) {
		n += copy(p[n:], r.b[:r.size-n])
	}
	return n
}

// front is the longest piece at the front that lies in one.
func (r *ring) front() []byte {
	return r.b[r.start:min(r.start+r.size, len(r.b))]
}

func (r *ring) drop(n int) {
	r.size -= n
	if r.size == 0 {
		r.start = 0 // the front of the memory is in the cache
		return
	}
	r.start = (r.start + n) & (len(r.b) - 1)
}
