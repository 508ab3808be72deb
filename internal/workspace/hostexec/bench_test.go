package hostexec

import "testing"

func BenchmarkJudge(b *testing.B) {
	r := builtinRules(b)
	for name, rel := range map[string]string{
		"source":  "packages/web/src/components/button/index.test.tsx",
		"object":  ".git/objects/ab/cdef0123456789abcdef0123456789abcdef01",
		"held":    "packages/web/.vscode/tasks.json",
		"unicode": "docs/über/straße/日本語.md",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Judge(rel, false)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parse("hostexec.toml", embedded); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInspectSource(b *testing.B) {
	r := builtinRules(b)
	text := make([]byte, 0, 16<<10)
	for len(text) < 16<<10 {
		text = append(text, "func main() { println(1) }\n"...)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Inspect("packages/web/src/main.go", nil, text)
	}
}

func BenchmarkScanned(b *testing.B) {
	r := builtinRules(b)
	b.ReportAllocs()
	for b.Loop() {
		r.Scanned()
	}
}
