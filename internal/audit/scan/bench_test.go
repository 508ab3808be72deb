package scan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// BenchmarkLaunch is what a launch waits for, in a small tree and in a large one.
func BenchmarkLaunch(b *testing.B) {
	small, large := b.TempDir(), b.TempDir()
	for i := range 40 {
		for j := range 250 {
			dir := filepath.Join(large, "d"+itoa(i))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, itoa(j)+".go"), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, root := range map[string]string{"small": small, "large": large} {
		for kind, budget := range map[string]Budget{"first": First(""), "again": Launch("", nil)} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				for range b.N {
					if _, err := Scan(root, budget); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkWorst is the longest that the judges take for one file.
func BenchmarkWorst(b *testing.B) {
	full := func(s string) []byte { return []byte(strings.Repeat(s, maxFile/len(s))) }
	s := &scan{}
	for name, text := range map[string][]byte{
		"plain": full("some words of a text\n"), "comment": append([]byte("<!--"), full("ignore you must agent should send do not ")...), "comments": full("<!-- ignore all agent must send -->"),
		"open": full("<!--"), "spaces": full(" \t"), "line": full("a"), "hidden": full("a\u200bb\n"), "style": full("<p style=' "), "at": full("@~/ "), "blank": full("\n"), "marks": full("\u200b"),
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				instructions(text, s.secret)
			}
		})
	}
	deep := append(append([]byte(`{"hooks":`), full(`[`)...), full(`]`)...)
	wide := []byte("{" + string(full(`"a":{"b":1},`)) + "}")
	r, _ := ruleOf(".claude/settings.json")
	for name, text := range map[string][]byte{"deep": deep, "wide": wide} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				r.judge(text)
			}
		})
	}
}

// BenchmarkFull is the longest that a launch looks at what agents obey: every fixed
// name with a file of one MiB, and directories with as many files as are read.
func BenchmarkFull(b *testing.B) {
	for name, text := range map[string]string{"plain": "{}" + strings.Repeat(" ", maxFile-2), "wide": "{" + strings.Repeat(`"a":{"b":1},`, maxFile/12-1) + `"c":1}`} {
		root := b.TempDir()
		s := &scan{}
		s.names, _ = hostexec.Builtin()
		files := s.fixed()
		for i := range 16 {
			files = append(files, ".claude/agents/"+itoa(i)+".md")
		}
		for _, f := range files {
			os.MkdirAll(filepath.Dir(filepath.Join(root, f)), 0o755)
			if err := os.WriteFile(filepath.Join(root, f), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(float64(len(files)), "files")
			for range b.N {
				if _, err := Scan(root, Launch("", nil)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
