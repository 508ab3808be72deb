package docs

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/stage"
)

// kit is where the texts and a copy of the tree are, for everybody: on the stage the
// sources may be out of sight.
const (
	kit     = "/mnt"
	kitTree = kit + "/ringfence"

	kitCache = kit + "/go-build"
)

// hostName is this binary when it is the host: alone with its loopback and its mounts.
const hostName = "docs-host"

// The variables of the way from one to the next.
const (
	vendorEnv = "DOCS_VENDOR"
	sourceEnv = "DOCS_SOURCE"
	cacheEnv  = "DOCS_CACHE"
)

func TestMain(m *testing.M) {
	runtime.LockOSThread() // capabilities and "die with the parent" belong to a thread
	var err error
	status := 1
	switch {
	case os.Args[0] == hostName:
		if err = makeHost(); err == nil {
			stage.Main(m)
		}
	case exists(kitTree):
		stage.Main(m)
	default:
		status, err = begin()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		status = 1
	}
	os.Exit(status)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// begin builds what needs the host, and starts the one without a network.
func begin() (status int, err error) {
	dir, err := os.MkdirTemp("", "docs-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	source, err := filepath.Abs("../..")
	if err != nil {
		return 1, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	bin, vendor := filepath.Join(dir, "ringfence"), filepath.Join(dir, "vendor")
	if err := built.Ringfence(bin); err != nil {
		return 1, err
	}
	vendored := exec.Command("go", "mod", "vendor", "-o", vendor)
	vendored.Dir = source
	if out, err := vendored.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go mod vendor: %w\n%s", err, out)
	}
	cache, err := warm(source, dir)
	if err != nil {
		return 1, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{hostName}, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), built.Set(bin), vendorEnv+"="+vendor, sourceEnv+"="+source, cacheEnv+"="+cache)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// makeHost brings up the loopback and copies the tree to where everybody sees it.
func makeHost() error {
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w\n%s", err, out)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("docs", kit, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount %s: %w", kit, err)
	}
	if err := cover(); err != nil {
		return err
	}
	if err := copyTree(os.Getenv(sourceEnv), kitTree); err != nil {
		return err
	}
	if err := copyTree(os.Getenv(vendorEnv), filepath.Join(kitTree, "vendor")); err != nil {
		return err
	}
	return copyTree(os.Getenv(cacheEnv), kitCache)
}

// The flags by which `make build` compiles: what is compiled depends on them.
var likeMake = []string{"-trimpath", "-buildvcs=false"}

// warm takes out of the compiler's cache what it has of the program, so that who walks
// through README.md does not have to wait for that: the packages, each with the entry
// that leads to it. What `make build` compiled is not compiled again.
func warm(source, dir string) (cache string, err error) {
	cache = filepath.Join(dir, "go-build")
	cmd := exec.Command("go", slices.Concat([]string{"list", "-export", "-deps", "-f", "{{.Export}} {{.BuildID}}"}, likeMake, []string{"./cmd/ringfence"})...)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		export, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		if export == "" {
			continue // unsafe has no code
		}
		// Entries are named by the whole hash of which the id has the beginning.
		action, _, _ := strings.Cut(id, "/")
		hash, err := base64.RawURLEncoding.DecodeString(action)
		if err != nil || len(hash) < 8 {
			return "", fmt.Errorf("go list: %q has no id", line)
		}
		from := filepath.Dir(filepath.Dir(export))
		entries, _ := filepath.Glob(filepath.Join(from, fmt.Sprintf("%02x/%x*-a", hash[0], hash)))
		if len(entries) == 0 {
			return "", fmt.Errorf("the compiler's cache has no entry for %q", line)
		}
		for _, file := range append(entries, export) {
			to := filepath.Join(cache, strings.TrimPrefix(file, from))
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), copyTree(file, to)); err != nil {
				return "", err
			}
		}
	}
	return cache, nil
}

// covered is what root may write to that is not the stage's: there his changes go to a
// layer of ours.
var covered = []string{"/etc", "/usr/local"}

// layerOf is where changes to a covered place go.
func layerOf(place string) string { return filepath.Join(kit, "layer", place) }

func cover() error {
	if os.Getuid() != 0 {
		return nil
	}
	for _, place := range covered {
		work := layerOf(place) + ".work"
		for _, dir := range []string{layerOf(place), work} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		how := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", place, layerOf(place), work)
		if err := unix.Mount("docs", place, "overlay", 0, how); err != nil {
			return fmt.Errorf("cover %s: %w", place, err)
		}
	}
	return nil
}

// copyTree copies what a clone would have, and what is not committed yet.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(path, from), "/")
		if d.IsDir() && (rel == ".git" || rel == "bin") {
			return fs.SkipDir
		}
		target := filepath.Join(to, rel)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, data, info.Mode().Perm()|0o444)
		}
		return nil
	})
}
