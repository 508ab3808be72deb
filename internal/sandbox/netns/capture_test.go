package netns

import (
	"bytes"
	"testing"
)

// The same session gives the same plan: nothing random is in the messages.
func TestMakeIsPure(t *testing.T) {
	a, err := Make([]uint16{5432})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Make([]uint16{5432})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Rules, b.Rules) || len(a.Rules) == 0 {
		t.Errorf("two batches differ: %d and %d bytes", len(a.Rules), len(b.Rules))
	}
	if len(a.Listen) != 6 || a.Listen[5].Port != 5432 {
		t.Errorf("ports %v", a.Listen)
	}
}

func BenchmarkMake(b *testing.B) {
	for b.Loop() {
		if _, err := Make(nil); err != nil {
			b.Fatal(err)
		}
	}
}
