package microvm

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGround: no machine begins where its disk would meet a full one.
func TestGround(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it mounts a small disk")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=100m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	_, err := makeDisk(dir, 1<<30)
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("100 MiB: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=200m"); err != nil {
		t.Fatal(err)
	}
	disk, err := makeDisk(dir, 1<<30)
	if err != nil {
		t.Fatalf("200 MiB: %v", err)
	}
	defer disk.Close()
	g := ground{disk: disk}
	if free, least := g.Room(); free != 200<<20 || least != leastSpare {
		t.Errorf("%d are free, %d stay so", free, least)
	}
	os.Remove(disk.Name()) // as when the machine runs
	if free, _ := g.Room(); free != 200<<20 || g.Where() != dir {
		t.Errorf("%d are free in %s", free, g.Where())
	}
	disk.Close()
	if free, least := g.Room(); free >= least {
		t.Error("a disk that nobody can look at has room")
	}
}
