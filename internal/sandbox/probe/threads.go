package probe

import (
	"bytes"
	"os"
	"strings"
	"time"
)

// Threads wants every thread of this process confined like the first: the kernel
// keeps capabilities, no_new_privs and the filter per thread, and a Go program has
// several. Bounding sets are left out: see sys.DropBounding.
func Threads() Result {
	for try := 0; ; try++ {
		r := threads()
		// The sentry lists a thread that is being born before it has the filter of its
		// parent, and lets it run when it has. One that never gets it is found all the same.
		if !r.Open || !onSentry() || try == 100 {
			return r
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func threads() Result {
	const name = "threads"
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) == 0 {
		return open(name, "%d threads (%v)", len(tasks), err)
	}
	for _, t := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/status")
		if os.IsNotExist(err) {
			continue // the runtime may end a thread meanwhile
		}
		for _, line := range []string{"CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
			if strings.HasPrefix(line, "NoNewPrivs") && onSentry() {
				continue // its proc does not say it; a filter was loaded without capabilities, which needs it
			}
			if !bytes.Contains(b, []byte("\n"+line+"\n")) {
				return open(name, "thread %s does not say %q (%v)", t.Name(), line, err)
			}
		}
	}
	return closed(name, "%d threads, all confined", len(tasks))
}
