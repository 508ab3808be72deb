// Package tier says how much of a suite is played. `make test` plays every case, and
// of the ways to play one (users, views, agents, names of one kind) as many as it takes
// for each way to be played; `make test-all` plays every combination of both.
package tier

import "os"

// Env holds "all" for every combination. What starts a test again hands it on.
const Env = "RINGFENCE_TEST"

// All reports whether every combination is played.
func All() bool { return os.Getenv(Env) == "all" }

// Some takes n of all, evenly, the first and the last among them; everything where
// every combination is played.
func Some[T any](all []T, n int) []T {
	if All() || len(all) <= n {
		return all
	}
	out := []T{}
	for i := range n {
		out = append(out, all[i*(len(all)-1)/max(n-1, 1)])
	}
	return out
}
