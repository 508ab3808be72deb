package why_test

import (
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// BenchmarkAnswer is all of an answer but the start of the program: a preparation, and
// another one with the grant.
func BenchmarkAnswer(b *testing.B) {
	home := b.TempDir()
	opt := launch.Options{Agent: agent.Command, Args: []string{"/bin/sh"}, Dir: b.TempDir(), Flags: &policy.Policy{}, Look: true,
		Environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}}
	for b.Loop() {
		s, err := session.Prepare(opt)
		if err != nil {
			b.Fatal(err)
		}
		if a := s.World().AboutEnv("SOME_NAME"); a.Findings[0].Grant == nil {
			b.Fatal(a)
		}
	}
}
