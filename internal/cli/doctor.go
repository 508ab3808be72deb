package cli

import (
	"bufio"
	gocontext "context"
	"encoding/json"
	"fmt"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/host"
	"ringfence.dev/ringfence/internal/run"
)

// doctor raises every wall once in a throw-away child, in the order of launch.
func doctor(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[--json]", "Shows what this host can enforce, by trying it. Exit 0: ok, 1: degraded, 2: unusable.")
	f.Bool("check", false, "the same; for those who look for it")
	asJSON := f.Bool("json", false, "print JSON; it names no user, host or path and is safe to paste")
	if err := c.parseAll(f, args); err != nil {
		return 2, err
	}
	if run.Nested() {
		return 2, fault.New(fault.Usage, "run it outside", "this is the inside of a ringfence sandbox: what the host can enforce cannot be seen from here")
	}
	facts, results := host.Probe(gocontext.Background())
	verdict := host.Verdict(results)
	word := []host.Status{host.OK, host.Degraded, host.Unusable}[verdict]
	if *asJSON {
		enc := json.NewEncoder(c.out)
		enc.SetIndent("", "  ")
		return verdict, enc.Encode(map[string]any{"version": Version, "verdict": word, "facts": facts, "results": results})
	}
	w := bufio.NewWriter(c.out)
	for _, r := range results {
		fmt.Fprintf(w, "%-9s %-13s %s\n", r.Status, r.Name, r.Detail)
		if r.Fix != "" {
			fmt.Fprintf(w, "%24sfix: %s\n", "", r.Fix)
		}
	}
	fmt.Fprintf(w, "\nthis host is %s (Linux %s, %s)\n", word, facts.Kernel, facts.Arch)
	return verdict, w.Flush()
}
