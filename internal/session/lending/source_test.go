package lending

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/source"
)

// A program that tells a secret runs once in a while: however many requests there are,
// whatever the upstream says of its answer, whether it fails, whoever goes away while
// it runs.
func TestProgramRunsOnceInAWhile(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(map[bool]string{false: "works", true: "fails"}[fails], func(t *testing.T) {
			dir := t.TempDir()
			runs, tool := filepath.Join(dir, "runs"), filepath.Join(dir, "tool")
			script := "#!/bin/sh\necho run >> " + runs + "\necho secret-$(wc -l < " + runs + ")\n"
			if fails {
				script += "exit 1\n"
			}
			if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			k := &keptSecret{ref: source.Ref{Name: "x", From: "command", Argv: []string{tool}}, host: source.Host{Environ: os.Environ()}, now: func() time.Time { return now }}
			storm := func() {
				var all sync.WaitGroup
				for n := range 8 {
					all.Go(func() {
						ctx, cancel := context.WithCancel(context.Background())
						if n%2 == 0 {
							cancel()
						}
						defer cancel()
						for range 50 {
							c, _ := k.Get(ctx)
							k.Stale(c)
							k.Stale(broker.Credential{Value: "another"})
						}
					})
				}
				all.Wait()
			}
			for want := 1; want < 4; want++ {
				storm()
				b, _ := os.ReadFile(runs)
				if got := strings.Count(string(b), "\n"); got != want {
					t.Fatalf("the program ran %d times and not %d", got, want)
				}
				now = now.Add(calm)
			}
			c, err := k.Get(context.Background())
			if !fails && c.Value != "secret-4" || fails && err == nil {
				t.Errorf("%q %v", c.Value, err)
			}
			now = now.Add(calm)
			if again, _ := k.Get(context.Background()); !fails && again.Value != c.Value {
				t.Error("a value that nobody complained of was asked for again")
			}
		})
	}
}
