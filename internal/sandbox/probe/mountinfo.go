package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is one line of mountinfo.
type Mount struct {
	ID          int
	Dev, Root   string // the filesystem, and which part of it is mounted
	Point, Type string
	Options     []string // of the mount, not of the filesystem
}

func (m Mount) has(option string) bool { return slices.Contains(m.Options, option) }

// null holds for the null device in the place of a file: so engines hide one.
func (m Mount) null() bool {
	var st unix.Stat_t
	return m.Root == "/null" && unix.Lstat(m.Point, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
}

// covered holds for a mount that nobody reaches, because another one is over it or over
// what it lies in. A kernel that cannot tell which mount a name leads to says no.
func covered(m Mount) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, m.Point, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	return errors.Is(err, unix.ENOENT) || err == nil && st.Mask&unix.STATX_MNT_ID != 0 && st.Mnt_id != uint64(m.ID)
}

// ParseMounts reads a mountinfo file. Names in it are anybody's.
func ParseMounts(b []byte) ([]Mount, error) {
	var out []Mount
	for line := range strings.Lines(string(b)) {
		m, ok := parseMount(strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, fmt.Errorf("mountinfo line %q", line)
		}
		out = append(out, m)
	}
	return out, nil
}

func parseMount(line string) (Mount, bool) {
	left, right, ok := strings.Cut(line, " - ")
	f, g := strings.Fields(left), strings.Fields(right)
	if !ok || len(f) < 6 || len(g) < 1 {
		return Mount{}, false
	}
	id, err := strconv.Atoi(f[0])
	if err != nil {
		return Mount{}, false
	}
	return Mount{ID: id, Dev: f[2], Root: unescape(f[3]), Point: unescape(f[4]), Type: g[0], Options: strings.Split(f[5], ",")}, true
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s // a replacer takes longer to make than a launch should
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func ownMounts() ([]Mount, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return ParseMounts(b)
}

// RootType is the type of the filesystem that is the root: of several mounts on
// one place the last one counts.
func RootType(mounts []Mount) string {
	root := ""
	for _, m := range mounts {
		if m.Point == "/" {
			root = m.Type
		}
	}
	return root
}

// ownRoot knows the root that we make: a tmpfs, which a sentry shows as its file server's.
func ownRoot(kind string) bool { return kind == "tmpfs" || kind == "9p" && onSentry() }

// ImageRoot is the kind of a root that an engine made of an image of ours, as it is told of
// from outside.
const ImageRoot = "an image of ours"

// View wants a root of our own in which only the planned mounts can be written.
func View(writable []string, built bool) Result {
	const name = "view"
	mounts, err := ownMounts()
	if err != nil {
		return open(name, "%v", err)
	}
	for _, m := range mounts {
		if !m.has("ro") && !strings.HasPrefix(m.Point, "/dev/") && !slices.Contains(writable, m.Point) && !beneathAny(m.Point, writable) && !m.null() && !covered(m) {
			return open(name, "%q is writable", m.Point)
		}
	}
	if t := RootType(mounts); !built && !ownRoot(t) {
		return open(name, "the root is %q", t)
	}
	return closed(name, "own root, nothing else writable")
}

// beneathAny allows mounts that came along below a writable one.
func beneathAny(p string, dirs []string) bool {
	for _, d := range dirs {
		if rest, ok := strings.CutPrefix(p, d); ok && strings.HasPrefix(rest, "/") {
			return true
		}
	}
	return false
}

// root wants the mounts of the host replaced by a root of ours that nobody can add a name
// to. Where an engine made it, it is known by not being the host's.
func root(t *Target) Result {
	const name = "view"
	mounts, err := ownMounts()
	if err != nil {
		return open(name, "%v", err)
	}
	if kind := RootType(mounts); !ownRoot(kind) && t.Root.is("/") {
		return open(name, "the root is the host's: %q", kind)
	}
	if err := readOnly("/"); err != nil {
		return open(name, "%v", err)
	}
	return separate(name, "mnt", t)
}

func readOnly(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("statfs %s: %w", dir, err)
	}
	if st.Flags&unix.ST_RDONLY == 0 {
		return fmt.Errorf("%s is mounted writable", dir)
	}
	return nil
}

// inert wants set-user-ID bits without effect on every mount: the second wall
// behind no_new_privs.
func inert(*Target) Result {
	const name = "nosuid"
	mounts, err := ownMounts()
	if err != nil {
		return open(name, "%v", err)
	}
	for _, m := range mounts {
		if !m.has("nosuid") {
			return open(name, "%q is mounted without nosuid", m.Point)
		}
	}
	return closed(name, "%d mounts, all nosuid", len(mounts))
}

// cgroups wants a view of the cgroup tree that begins at our own group, and no
// file of it to write to.
func cgroups(t *Target) Result {
	const name = "cgroup"
	mounts, err := ownMounts()
	if err != nil {
		return open(name, "%v", err)
	}
	for _, m := range mounts {
		if (m.Type == "cgroup" || m.Type == "cgroup2") && !covered(m) {
			return open(name, "the tree is mounted at %q", m.Point)
		}
	}
	if _, err := Namespace("self", "cgroup"); errors.Is(err, fs.ErrNotExist) && onSentry() {
		return closed(name, "no tree is mounted, and this kernel has none of the host's")
	}
	return separate(name, "cgroup", t)
}
