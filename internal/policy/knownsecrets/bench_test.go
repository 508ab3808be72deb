package knownsecrets

import "testing"

// What a launch pays: decoding once, then a few questions.

func BenchmarkDecodePaths(b *testing.B) {
	for b.Loop() {
		decodePaths()
	}
}

func BenchmarkDecodeEnv(b *testing.B) {
	for b.Loop() {
		decodeEnv()
	}
}

func BenchmarkUnderWorkspace(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		Under(home, home+"/src/p", nil)
	}
}

func BenchmarkUnderHome(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		Under(home, home, nil)
	}
}

func BenchmarkLinked(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		Linked(home, home)
	}
}

func BenchmarkEnvUnknown(b *testing.B) {
	for b.Loop() {
		Env("SOME_ORDINARY_NAME")
	}
}
