package guest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/microvm/ext4"
)

const inert = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV

// first mounts what the loading of modules and the search for devices need.
func first() error {
	return mountAll([]mount{{"dev", "/dev", "devtmpfs", unix.MS_NOSUID, "mode=755"}, {"proc", "/proc", "proc", inert, ""}, {"sys", "/sys", "sysfs", inert | unix.MS_RDONLY, ""}})
}

type mount struct {
	src, dir, kind string
	flags          uintptr
	data           string
}

func mountAll(list []mount) error {
	for _, m := range list {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.src, m.dir, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s at %s: %w", m.kind, m.dir, err)
		}
	}
	return nil
}

// loadModules loads what the archive has, and forgets it.
func loadModules() error {
	order, err := os.ReadFile(Order)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(order)) {
		if err := load(filepath.Join(ModulesAt, name)); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return os.RemoveAll(ModulesAt)
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// appears is how long a device may take to be there once its module is loaded.
const appears = 10 * time.Second

// await looks for something until it is there.
func await(what string, look func() (*os.File, error)) (*os.File, error) {
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		f, err := look()
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || time.Since(began) > appears {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
}

// openPort opens the link.
func openPort() (*os.File, error) {
	return await("the link", func() (*os.File, error) {
		all, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, at := range all {
			if b, err := os.ReadFile(at); err == nil && strings.TrimSpace(string(b)) == Port {
				return os.OpenFile("/dev/"+filepath.Base(filepath.Dir(at)), os.O_RDWR, 0)
			}
		}
		return nil, errors.Join(fs.ErrNotExist, err)
	})
}

// root is where the new root is made.
const root = "/root"

// furnish makes the root in which the far end runs: a memory file system with the host's
// share, the disk and the devices in it. It is moved over the first root: who is only
// chrooted gets no user namespace.
func furnish(ids [2]uint32) error {
	if err := format(); err != nil {
		return err
	}
	err := mountAll([]mount{
		{"root", root, "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755,size=1m"},
		{"proc", root + "/proc", "proc", inert, ""},
		{"dev", root + "/dev", "devtmpfs", unix.MS_NOSUID | unix.MS_NOEXEC, "mode=755"},
		{"pts", root + "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,mode=620,ptmxmode=666"},
		{Share, root + ShareAt, "9p", unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV, "trans=virtio,version=9p2000.L,access=any,cache=loose,msize=512000"},
		{disk, root + DiskAt, "ext4", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOATIME, "errors=panic"},
	})
	if err != nil {
		return err
	}
	own := root + DiskAt + "/far"
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, int(ids[0]), int(ids[1]))); err != nil {
		return err
	}
	settings()
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// settings lets a user who is not root make user namespaces, where a distribution does not.
func settings() {
	for name, value := range map[string]string{"kernel/unprivileged_userns_clone": "1", "kernel/apparmor_restrict_unprivileged_userns": "0"} {
		os.WriteFile("/proc/sys/"+name, []byte(value), 0) // most kernels have neither
	}
}

const disk = "/dev/vda"

// format makes the file system of the disk, which is empty at every start.
func format() error {
	f, err := await("the disk", func() (*os.File, error) { return os.OpenFile(disk, os.O_RDWR, 0) })
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		err = ext4.Format(f, size)
	}
	if err != nil {
		return fmt.Errorf("format the disk: %w", err)
	}
	return nil
}
