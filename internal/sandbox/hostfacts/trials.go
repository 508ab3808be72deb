package hostfacts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// trial raises one wall in a throw-away child and checks its effect there.
type trial struct {
	name  string
	flags uintptr // namespaces besides the user namespace
	plain bool    // wants no namespace at all
	try   func(outer string) error
}

// trials are in the order of launch. Each stands alone, so that one refusal does
// not hide another.
var trials = []trial{
	{name: "user", try: tryUser},
	{name: "mount", flags: unix.CLONE_NEWNS, try: tryMount},
	{name: "mount-api", flags: unix.CLONE_NEWNS, try: tryMountAPI},
	{name: "pid", flags: unix.CLONE_NEWPID, try: tryPID},
	{name: "proc", flags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, try: tryProc},
	{name: "devpts", flags: unix.CLONE_NEWNS, try: tryDevpts},
	{name: "ipc", flags: unix.CLONE_NEWIPC, try: tryIPC},
	{name: "uts", flags: unix.CLONE_NEWUTS, try: tryUTS},
	{name: "net", flags: unix.CLONE_NEWNET, try: tryNet},
	{name: "gate", flags: unix.CLONE_NEWNET, try: tryGate},
	{name: "cgroup", flags: unix.CLONE_NEWCGROUP, try: tryCgroup},
	{name: "keyring", try: tryKeyring},
	{name: "nested", flags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, try: tryNested},
	{name: "caps", try: tryCaps},
	{name: "no-new-privs", plain: true, try: tryNoNewPrivs},
	{name: "landlock", plain: true, try: tryLandlock},
	{name: "seccomp", plain: true, try: trySeccomp},
	{name: "tty", plain: true, try: tryTTY},
	{name: "overlay", flags: unix.CLONE_NEWNS, try: tryOverlay},
}

// stage is where a trial mounts its tmpfs. It exists wherever namespaces can be
// looked at, and the child's mount namespace is its own.
const stage = "/proc"

func step(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// ineffective is for a call that succeeded and changed nothing.
func ineffective(what string) error { return errors.New(what + " has no effect") }

// tryUser uses a capability in the new namespace. AppArmor lets the namespace be
// made and refuses exactly this.
func tryUser(outer string) error {
	if fmt.Sprint(os.Getuid()) != outer {
		return ineffective("the map of users")
	}
	return step("use a capability", unix.Unshare(unix.CLONE_NEWUTS))
}

func privateTmpfs(dirs ...string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return step("make mounts private", err)
	}
	if err := unix.Mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=0700"); err != nil {
		return step("mount tmpfs", err)
	}
	for _, d := range dirs {
		if err := unix.Mkdir(stage+"/"+d, 0o700); err != nil {
			return step("mkdir", err)
		}
	}
	return nil
}

func tryMount(string) error {
	if err := privateTmpfs("a"); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(stage, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		return ineffective("mount")
	}
	return nil
}

// tryMountAPI attaches a read-only clone of one directory over another, through
// descriptors alone.
func tryMountAPI(string) error {
	if err := privateTmpfs("a", "b"); err != nil {
		return err
	}
	src, err := unix.Openat2(unix.AT_FDCWD, stage+"/a", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return step("openat2", err)
	}
	tree, err := unix.OpenTree(src, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return step("open_tree", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return step("mount_setattr", err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, stage+"/b", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return step("move_mount", err)
	}
	if err := touch(stage + "/a/x"); err != nil {
		return step("write to the source", err)
	}
	if err := touch(stage + "/b/y"); !errors.Is(err, unix.EROFS) {
		return ineffective("read-only")
	}
	return nil
}

func touch(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func tryPID(string) error {
	if os.Getpid() != 1 {
		return ineffective("the PID namespace")
	}
	return nil
}

func freshProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return step("make mounts private", err)
	}
	return step("mount proc", unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
}

func tryProc(string) error {
	if err := freshProc(); err != nil {
		return err
	}
	if self, err := os.Readlink("/proc/self"); err != nil || self != "1" {
		return ineffective("the fresh proc")
	}
	return nil
}

func tryDevpts(string) error {
	if err := privateTmpfs("pts"); err != nil {
		return err
	}
	err := unix.Mount("devpts", stage+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	if err != nil {
		return step("mount devpts", err)
	}
	return openPty(stage + "/pts/ptmx")
}

// openPty makes a pseudo-terminal from the given multiplexer.
func openPty(ptmx string) error {
	fd, err := unix.Open(ptmx, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return step("open ptmx", err)
	}
	defer unix.Close(fd)
	_, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
	return step("number of the terminal", err)
}

func tryTTY(string) error { return openPty("/dev/ptmx") }

// tryNamespace compares the namespace we are in with the one outside.
func tryNamespace(kind, outer string) error {
	inner, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return step("look at the namespace", err)
	}
	if inner == outer {
		return ineffective("the " + kind + " namespace")
	}
	return nil
}

func tryIPC(outer string) error    { return tryNamespace("ipc", outer) }
func tryCgroup(outer string) error { return tryNamespace("cgroup", outer) }

func tryUTS(outer string) error {
	if err := tryNamespace("uts", outer); err != nil {
		return err
	}
	const name = "ringfence"
	if err := unix.Sethostname([]byte(name)); err != nil {
		return step("set the host name", err)
	}
	if got, err := os.Hostname(); err != nil || got != name {
		return ineffective("the host name")
	}
	return nil
}

// tryGate asks nftables of the new namespace for its generation: without nftables the
// network cannot be made to end at the gate. The kernel loads it for who asks.
func tryGate(string) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return step("netfilter socket", err)
	}
	defer unix.Close(fd)
	const getGeneration = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN
	ask := make([]byte, unix.NLMSG_HDRLEN+4) // and a struct nfgenmsg of zeros
	binary.NativeEndian.PutUint32(ask, uint32(len(ask)))
	binary.NativeEndian.PutUint16(ask[4:], getGeneration)
	binary.NativeEndian.PutUint16(ask[6:], unix.NLM_F_REQUEST)
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return step("ask nftables", err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return step("ask nftables", err)
	}
	if n >= unix.NLMSG_HDRLEN+4 && binary.NativeEndian.Uint16(answer[4:]) == unix.NLMSG_ERROR {
		return step("ask nftables", unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:]))))
	}
	return nil
}

// tryNet brings the loopback of the new namespace up and talks over it.
func tryNet(outer string) error {
	if err := tryNamespace("net", outer); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return step("socket", err)
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return step("name the loopback", err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return step("bring the loopback up", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return step("bind", err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		return step("listen", err)
	}
	here, err := unix.Getsockname(fd)
	if err != nil {
		return step("getsockname", err)
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return step("socket", err)
	}
	return step("connect over the loopback", unix.Connect(client, here))
}

func tryKeyring(string) error {
	before, _ := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	after, err := unix.KeyctlJoinSessionKeyring("ringfence")
	if err != nil {
		return step("join a new session keyring", err)
	}
	if before == after {
		return ineffective("the new session keyring")
	}
	return nil
}

// tryNested forbids further user namespaces and then asks for one. The write goes
// to a fresh proc, because containers show /proc/sys read-only.
func tryNested(string) error {
	if err := freshProc(); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return step("write max_user_namespaces", err)
	}
	c := exec.Command("/proc/self/exe", ProbeArg, "hello")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	if err := c.Run(); !errors.Is(err, unix.ENOSPC) {
		return ineffective("the limit on user namespaces")
	}
	return nil
}

// tryCaps drops every capability and tries what needs one, before and after.
func tryCaps(string) error {
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return step("use a capability", err)
	}
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break
		} else if err != nil {
			return step("drop from the bounding set", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return step("clear the ambient set", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return step("drop all capabilities", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWUTS); !errors.Is(err, unix.EPERM) {
		return ineffective("dropping capabilities")
	}
	return nil
}

func tryNoNewPrivs(string) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return step("set no_new_privs", err)
	}
	if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || on != 1 {
		return ineffective("no_new_privs")
	}
	return nil
}

func tryOverlay(string) error {
	if err := privateTmpfs("lower", "upper", "work", "merged"); err != nil {
		return err
	}
	options := strings.ReplaceAll("lowerdir=@/lower,upperdir=@/upper,workdir=@/work,userxattr", "@", stage)
	if err := unix.Mount("overlay", stage+"/merged", "overlay", 0, options); err != nil {
		return step("mount overlay", err)
	}
	if err := touch(stage + "/merged/x"); err != nil {
		return step("write to the overlay", err)
	}
	if exists(stage+"/lower/x") || !exists(stage+"/upper/x") {
		return ineffective("the overlay")
	}
	return nil
}
