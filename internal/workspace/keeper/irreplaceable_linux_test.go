package keeper

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pack is a name of one, largest more than the store of a test keeps of a file.
const (
	pack    = ".git/objects/pack/pack-0123456789012345678901234567890123456789.pack"
	largest = 1<<20 + 1
)

// TestIrreplaceable: an object that undo could not bring back stays as it is, and a small
// one gets no other name, under which it could go when the store is full. One of the session's own is not such.
func TestIrreplaceable(t *testing.T) {
	b := newBox(t, "mkdir -p .git/refs .git/objects/pack .git/objects/01; touch .git/HEAD; echo x >.git/objects/01/"+commit[2:]+"; truncate -s "+strconv.Itoa(largest)+" "+pack)
	b.start("irreplaceable")
	a := b.finish()
	b.end()
	st, err := os.Stat(b.dir + "/tree/" + pack)
	if a.Err != "" || err != nil || st.Size() != largest {
		t.Errorf("ended with %q, and the host has %v, %v", a.Err, st, err)
	}
}

var irreplaceable = []operation{{name: "irreplaceable", do: inOrder(
	refused(unix.EBUSY, writing(pack, unix.O_WRONLY, "x")), refused(unix.EBUSY, func() error { return unix.Truncate(pack, 1) }),
	refused(unix.EXDEV, renamed(pack, "x")), refused(unix.EXDEV, func() error { return unix.Link(pack, "x") }),
	refused(unix.EBUSY, func() error { return unix.Unlink(pack) }),
	refused(unix.EXDEV, renamed(".git/objects/01/"+commit[2:], "x")), refused(unix.EXDEV, func() error { return unix.Link(".git/objects/01/"+commit[2:], "x") }),
	writing(".git/objects/pack/tmp_pack_x", create, strings.Repeat("x", largest)), writing(".git/objects/pack/tmp_pack_x", unix.O_WRONLY, "y"),
	renamed(".git/objects/pack/tmp_pack_x", strings.Replace(pack, "-0", "-1", 1)))}}
