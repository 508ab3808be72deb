package sign

import (
	"sync"
	"time"
)

// limit counts requests in the last minute.
type limit struct {
	most int

	mu    sync.Mutex
	times []time.Time // of those taken, oldest first
	told  bool        // since the last one that was taken
}

// take reports whether one more is within the limit, and if not, whether it is
// the first that is not.
func (l *limit) take(now time.Time) (ok, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.times) > 0 && now.Sub(l.times[0]) >= time.Minute {
		l.times = l.times[1:]
	}
	if len(l.times) >= l.most {
		first, l.told = !l.told, true
		return false, first
	}
	l.times, l.told = append(l.times, now), false
	return true, false
}
