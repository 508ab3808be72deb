package knownsecrets

import (
	"runtime"
	"testing"
)

// TestForgotten: the tables are decoded once as long as they are used, and again after they
// were forgotten.
func TestForgotten(t *testing.T) {
	decoded := 0
	get := forgotten(func() []string {
		decoded++
		return []string{"a", "b"}
	})
	for range 3 {
		get()
	}
	if decoded != 1 {
		t.Errorf("decoded %d times", decoded)
	}
	runtime.GC()
	if v := get(); decoded != 2 || len(v) != 2 {
		t.Errorf("decoded %d times: %v", decoded, v)
	}
}
