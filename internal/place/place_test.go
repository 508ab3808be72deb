package place_test

import (
	"testing"

	"ringfence.dev/ringfence/internal/place"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a/b", "/a", true}, {"/a", "/a", true}, {"/x", "/", true}, {"/", "/", true},
		{"/ab", "/a", false}, {"/a-evil/x", "/a", false}, {"/a", "/a/b", false}, {"/", "/a", false},
	} {
		if place.Within(c.path, c.dir) != c.want {
			t.Errorf("Within(%q, %q) is %v", c.path, c.dir, !c.want)
		}
	}
}
