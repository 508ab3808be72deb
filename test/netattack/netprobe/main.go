// Command netprobe makes network attacks that a file lists and writes down what
// became of them.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"ringfence.dev/ringfence/test/netattack/probe"
)

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: netprobe LIST ANSWERS PROXY4 PROXY6 PACE")
		os.Exit(2)
	}
	pace, err := time.ParseDuration(os.Args[5])
	if err == nil {
		err = run(os.Args[1], os.Args[2], probe.Where{Proxy4: os.Args[3], Proxy6: os.Args[4], Session: os.Getenv("RINGFENCE"), Pace: pace})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "netprobe:", err)
		os.Exit(1)
	}
}

func run(list, answers string, at probe.Where) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	var probes []probe.Probe
	if err := json.Unmarshal(data, &probes); err != nil {
		return err
	}
	out, err := json.Marshal(probe.Run(at, probes))
	if err != nil {
		return err
	}
	return os.WriteFile(answers, out, 0o644)
}
