// Package wait is how a test waits: for the event, and for so long that only what hangs is
// given up. A machine may be slow, so no test takes a delay for a failure.
package wait

import "time"

// Patience bounds every wait. On a machine that has nothing else to do, nothing takes a
// hundredth of it.
const Patience = 10 * time.Minute

// Test is what a wait needs of a test.
type Test interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Eventually asks again and again until it is told yes, less often the longer it takes:
// many a question is a program that has to be started.
func Eventually(t Test, what string, ask func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	if !For(ask) {
		t.Fatalf("not within %s: %s", Patience, what)
	}
	return time.Since(began)
}

// For is Eventually for who has more to say when it never comes.
func For(ask func() bool) bool {
	for began := time.Now(); !ask(); {
		since := time.Since(began)
		if since > Patience {
			return false
		}
		time.Sleep(min(5*time.Millisecond+since/8, 250*time.Millisecond))
	}
	return true
}
