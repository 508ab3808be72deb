package hook

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkJudge is the verdict alone, over all command lines of the tables.
func BenchmarkJudge(b *testing.B) {
	var lines []string
	for _, row := range table(b, "deny.txt") {
		_, line, _ := strings.Cut(row, "\t")
		lines = append(lines, line)
	}
	lines = append(lines, table(b, "pass.txt")...)
	b.ResetTimer()
	for i := range b.N {
		Judge(lines[i%len(lines)], ann)
	}
}

// BenchmarkProcess is what an agent waits for: the program from its start to its end,
// with a call on stdin. It reports the median.
func BenchmarkProcess(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "ringfence")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "ringfence.dev/ringfence/cmd/ringfence")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	const call = `{"session_id":"x","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push origin main"},"cwd":"/"}`
	var times []float64
	for range b.N {
		cmd := exec.Command(bin, "hook", "claude")
		cmd.Stdin = strings.NewReader(call)
		start := time.Now()
		out, err := cmd.Output()
		times = append(times, float64(time.Since(start).Microseconds())/1000)
		if err != nil || !strings.Contains(string(out), `"deny"`) {
			b.Fatalf("%v %s", err, out)
		}
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "ms-median")
	b.ReportMetric(times[len(times)*95/100], "ms-p95")
}
