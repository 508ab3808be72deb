package microvm

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// ground is where the disk of a machine lies. It has holes, and is filled as the guest writes.
type ground struct {
	disk *os.File
	jail rung.Sandbox // the emulator and nothing else
}

var _ far.Ground = ground{}

// Where implements far.Ground.
func (g ground) Where() string { return filepath.Dir(g.disk.Name()) }

// Of a disk a fortieth stays free, and between leastSpare and mostSpare bytes. That is less than
// what stays free beside the layers: nothing can be brought over some time before the machine
// must stand still.
const (
	leastSpare = 64 << 20
	mostSpare  = 512 << 20
)

// Room implements far.Ground. A disk that cannot be looked at has none.
func (g ground) Room() (free, least int64) {
	var st unix.Statfs_t
	raw, err := g.disk.SyscallConn()
	if err == nil {
		other := raw.Control(func(fd uintptr) { err = unix.Fstatfs(int(fd), &st) })
		if err == nil {
			err = other
		}
	}
	if err != nil {
		return -1, leastSpare
	}
	return int64(st.Bavail) * st.Bsize, max(leastSpare, min(mostSpare, int64(st.Blocks)*st.Bsize/40))
}

// Freeze implements far.Ground. What the emulator is writing just then is written, and no more.
func (g ground) Freeze() error { return g.jail.Freeze() }

// Thaw implements far.Ground.
func (g ground) Thaw() error { return g.jail.Thaw() }

// spacious refuses to begin where a machine would stand still soon.
func (g ground) spacious() error {
	if free, least := g.Room(); free < 2*least {
		return fault.New(fault.Refused, "make room there; or --rung native", "the disk of a machine lies in %s, where %d MiB are free: it begins with %d MiB, and stands still below %d", g.Where(), max(free, 0)>>20, 2*least>>20, least>>20)
	}
	return nil
}
