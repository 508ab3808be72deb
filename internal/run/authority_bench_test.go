package run

import (
	"os"
	"testing"
)

func BenchmarkJavaStore(b *testing.B) {
	bundle, err := os.ReadFile(bundles[0])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := javaStore(bundle); err != nil {
			b.Fatal(err)
		}
	}
}
