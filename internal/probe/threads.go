package probe

import "os"

// Threads wants every thread of this process confined like the first: the kernel
// keeps capabilities, no_new_privs and the filter per thread, and a Go program has
// several. Bounding sets are left out: see sys.DropBounding.
func Threads() Result {
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
		status := ParseStatus(b)
		for key, want := range map[string]string{"CapPrm": "0000000000000000", "CapEff": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"} {
			if status[key] != want {
				return open(name, "%s of thread %s is %q (%v)", key, t.Name(), status[key], err)
			}
		}
	}
	return closed(name, "%d threads, all confined", len(tasks))
}
