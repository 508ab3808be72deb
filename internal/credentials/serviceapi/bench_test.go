package serviceapi

import "testing"

func BenchmarkJudge(b *testing.B) {
	s := hub(b)
	for name, r := range map[string]Request{
		"read":    request("GET /repos/other/one/contents/src/main.go"),
		"write":   request(`POST /repos/o/r/issues {"title":"t"}`),
		"deny":    request("POST /repos/other/one/issues {}"),
		"graphql": ask(aboutUs, map[string]any{"o": "o", "n": "r"}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Judge(r)
			}
		})
	}
}
