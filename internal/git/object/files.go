package object

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

const (
	maxPacks      = 4096
	maxDirEntries = 1 << 16
	maxList       = 64 << 10 // bytes of info/alternates
)

// openStore opens a directory without following any symlink on the way.
func openStore(path string) (*os.File, error) {
	return openat2(unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
}

// openIn opens what lies below d.
func openIn(d *os.File, name string, flags int) (*os.File, error) {
	return openat2(int(d.Fd()), name, flags|unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
}

func openat2(at int, path string, flags int, resolve uint64) (*os.File, error) {
	fd, err := sys.Open(at, path, flags, resolve)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openFile opens a regular file below d; a FIFO cannot make it wait.
func openFile(d *os.File, name string) (*os.File, int64, error) {
	f, err := openIn(d, name, 0)
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", name)
	}
	if err != nil {
		_ = f.Close() // it was read only
		return nil, 0, err
	}
	return f, fi.Size(), nil
}

// packNames lists the packs that have an index, without their suffix.
func packNames(d *os.File) ([]string, error) {
	f, err := openIn(d, "pack", unix.O_DIRECTORY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for read := 0; read < maxDirEntries; {
		batch, err := f.Readdirnames(1024)
		read += len(batch)
		for _, name := range batch {
			if name, ok := strings.CutSuffix(name, ".idx"); ok && strings.HasPrefix(name, "pack-") && len(names) < maxPacks {
				names = append(names, "pack/"+name)
			}
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("more than %d files among the packs", maxDirEntries)
}

// borrowed reads which stores in the workspaces the store d at path borrows
// from. Any other is as good as absent: the list is the agent's to write.
func borrowed(d *os.File, path string, workspaces []string) []string {
	f, _, err := openFile(d, "info/alternates")
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxList))
	if err != nil {
		return nil
	}
	var stores []string
	for line := range strings.SplitSeq(string(b), "\n") {
		if line == "" || line[0] == '#' || line[0] == '"' || strings.IndexByte(line, 0) >= 0 {
			continue
		}
		if line[0] != '/' {
			line = path + "/" + line
		}
		line = filepath.Clean(line)
		for _, w := range workspaces {
			if strings.HasPrefix(line, strings.TrimSuffix(w, "/")+"/") {
				stores = append(stores, line)
				break
			}
		}
	}
	return stores
}
