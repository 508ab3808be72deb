package carrier

// ring holds what was written from some byte of the stream on.
type ring struct {
	buf   []byte // of Window bytes, once there is anything
	at    int    // in buf, of the first byte
	len   int
	first uint64 // which byte of the stream that is
}

func (r *ring) free() int { return Window - r.len }

// put takes as much as there is room for.
func (r *ring) put(p []byte) (n int) {
	if r.buf == nil {
		r.buf = make([]byte, Window)
	}
	p = p[:min(len(p), r.free())]
	for len(p) > 0 {
		to := (r.at + r.len) % Window
		m := copy(r.buf[to:min(Window, to+r.free())], p)
		p, r.len, n = p[m:], r.len+m, n+m
	}
	return n
}

// appendFrom appends at most n of the bytes after the first skip ones.
func (r *ring) appendFrom(b []byte, skip, n int) []byte {
	for n = min(n, r.len-skip); n > 0; {
		from := (r.at + skip) % Window
		part := r.buf[from:min(Window, from+n)]
		b = append(b, part...)
		skip, n = skip+len(part), n-len(part)
	}
	return b
}

// drop forgets all before a byte of the stream; false: that byte is not in it, nor the next.
func (r *ring) drop(to uint64) bool {
	if to < r.first || to-r.first > uint64(r.len) {
		return false
	}
	n := int(to - r.first)
	r.at, r.len, r.first = (r.at+n)%Window, r.len-n, to
	return true
}
