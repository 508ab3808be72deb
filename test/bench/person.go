package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// person measures what a person waits for, beside fifty sessions that run.
func (b *bench) person() error {
	const sessions = 50
	dir, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	for n := range sessions {
		if _, err := run(b.command(dir, b.ringfence, "run", "--net", "none", "-d", "--name", fmt.Sprintf("bench-%d", n), "--", "sleep", "600")); err != nil {
			return err
		}
		defer func() {
			run(b.command(dir, b.ringfence, "stop", "--time", "0", fmt.Sprintf("bench-%d", n)))
			run(b.command(dir, b.ringfence, "rm", fmt.Sprintf("bench-%d", n)))
		}()
	}
	const call = `{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/","tool_input":{"command":"git status && make test"}}`
	for _, c := range []struct {
		most  float64 // milliseconds
		stdin string
		argv  []string
	}{
		{5, call, []string{"hook", "claude"}},
		{20, "", []string{"ps"}}, {20, "", []string{"status", "bench-7"}},
		{20, "", []string{"why", b.home + "/.ssh/id_ed25519"}}, {20, "", []string{"why", "api.example.org:443"}}, {20, "", []string{"why", "AWS_PROFILE"}},
	} {
		var t times
		for range b.rounds * 5 {
			cmd := b.command(dir, append([]string{b.ringfence}, c.argv...)...)
			cmd.Stdin = strings.NewReader(c.stdin)
			began := time.Now()
			run(cmd) // why has a status of its own
			t = append(t, time.Since(began).Seconds()*1e3)
		}
		b.add("`ringfence "+strings.ReplaceAll(strings.Join(c.argv, " "), b.home, "~")+"`", t.median() <= c.most,
			fmt.Sprintf("at most %g ms", c.most), "median %.1f ms (minimum %.1f)", t.median(), t.min())
	}
	return b.fifty(dir)
}

// fifty is what each of them takes.
func (b *bench) fifty(dir string) error {
	out, err := run(b.command(dir, b.ringfence, "ps", "--memory", "--json"))
	if err != nil {
		return err
	}
	var list []struct {
		Name   string
		Memory int64
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return err
	}
	var sum, n int64
	for _, s := range list {
		if strings.HasPrefix(s.Name, "bench-") {
			sum, n = sum+s.Memory, n+1
		}
	}
	if n == 0 {
		return fmt.Errorf("no session is listed")
	}
	b.note(fmt.Sprintf("memory of each of %d sessions", n), "%.1f MiB PSS, agent included", float64(sum/n)/(1<<20))
	return nil
}
