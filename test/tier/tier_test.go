package tier

import (
	"slices"
	"testing"
)

func TestSome(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	t.Setenv(Env, "")
	for n, want := range map[int][]int{1: {0}, 2: {0, 9}, 4: {0, 3, 6, 9}, 10: all, 20: all} {
		if got := Some(all, n); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	t.Setenv(Env, "all")
	if got := Some(all, 2); !slices.Equal(got, all) {
		t.Errorf("all: %v", got)
	}
}
