package inside

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// cache attaches a private layer above directories that are ready. They save time and hold
// nothing up: where they cannot be shown, the private directory is there alone, as ever.
func (v *view) cache(op *plan.Op) error {
	m, err := overReady(op)
	if err != nil {
		return v.bindCache(op)
	}
	defer unix.Close(m)
	dst, err := v.point(string(op.Dst), true)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	return sys.Attach(m, dst)
}

func (v *view) bindCache(op *plan.Op) error {
	return v.bind(&plan.Op{Do: plan.DoBind, Dst: op.Dst, Src: op.Src, ID: op.ID, Write: true}, quietAttr)
}

// overReady mounts the overlay. All of its directories are named by descriptor. The kernel
// never writes to those below: what is changed is copied up first.
func overReady(op *plan.Op) (int, error) {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	var names []string
	for _, at := range append([]plan.Raw{op.Upper, op.Work}, op.Lower...) {
		fd, err := sys.OpenSource(string(at))
		if err != nil {
			return -1, err
		}
		fds = append(fds, fd)
		names = append(names, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	return sys.NewMount("overlay", quietAttr, sys.Option{Key: "userxattr"}, sys.Option{Key: "lowerdir", Value: strings.Join(names[2:], ":")},
		sys.Option{Key: "upperdir", Value: names[0]}, sys.Option{Key: "workdir", Value: names[1]})
}
