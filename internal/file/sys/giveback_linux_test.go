package sys

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// resident is how much of our own binary is mapped to memory, in KiB.
func resident(t *testing.T) (sum int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	ours := false
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case strings.Contains(f[0], "-"):
			ours = strings.HasSuffix(strings.TrimSpace(line), self) && f[1][1] != 'w'
		case ours && f[0] == "Rss:":
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// TestGiveBack: every page of the binary is touched; afterwards many of them are gone, until they are touched again, and
// the program goes on.
func TestGiveBack(t *testing.T) {
	if len(ownSegments()) == 0 {
		if !Cgo {
			t.Fatal("a static binary has no segments")
		}
		t.Skip("a binary that is relocated keeps its pages")
	}
	sum := byte(0)
	for _, s := range ownSegments() {
		for _, b := range unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), s.at)), s.size) {
			sum += b
		}
	}
	before := resident(t)
	GiveBack()
	if after := resident(t); after > before*3/4 {
		t.Errorf("%d KiB of %d are left (%d)", after, before, sum)
	}
}
