//go:build ringfence_mutate

package link

import (
	"os"
	"time"
)

// mutated reports whether the test build was told to leave this defence out.
func mutated(what string) bool { return os.Getenv("RINGFENCE_MUTATE") == what }

// endStreams can leave streams open for longer than anybody waits who wants them to end.
func (l *Link) endStreams(why error) {
	if !mutated("link-end") {
		l.failStreams(why)
		return
	}
	time.AfterFunc(10*time.Second, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failStreams(why)
	})
}
