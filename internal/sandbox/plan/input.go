package plan

// Input is everything a plan is made of. It holds facts that were looked up
// already, so that Make needs no look of its own.
type Input struct {
	Session  string
	Hostname string
	User     User
	Walls    []Wall  // the walls that are to stand
	ABI      int     // Landlock ABI of this kernel
	Seccomp  []byte  // compiled filter
	System   []Node  // what exists of SystemPaths
	There    bool    // and it is not this machine's, but of the place where the walls stand
	Mounts   []Mount // what else of the host joins the view, in any order
	Masks    []Mask
	Files    []File
	Links    []Link
	Sizes    Sizes
	Limits   Limits
	Process  Process
	Capture  *Capture
	Watch    []byte // compiled filter of the keeper; needed where a mount is live
	Observe  bool   // it is loaded also where none is: to hear of what is asked for
	Heard    []byte // compiled filter in the place of Seccomp, where Watch answers what it leaves out
	Filter   []byte // a further filter
}

// User is the one user that exists inside: the same as outside.
type User struct {
	Name, Group string
	UID, GID    int
	Home, Shell string
}

// Node is one existing name of the host.
type Node struct {
	Path string
	Link string // what a symlink says; "" if it is none
	Real string // the same without symlinks
}

// Mount is a source of the host that joins the view at Dst. Src holds no symlink:
// who found it has followed them, and inside follows none.
type Mount struct {
	Src, Dst string
	Write    bool
	ID       *Identity
	Why      string
	View     View     // how a directory that may be written is shown
	Layer    *Layer   // its private layer
	Below    []string // of a private directory: what is ready below its layer, the first on top
}

// View is how the agent's changes to a directory reach the host.
type View string

// The views. Direct is for what is the sandbox's own.
const (
	Direct View = ""
	Live   View = "live"   // at once, by the keeper
	Review View = "review" // when a person applies them
)

// Layer is a pair of directories of the session's state.
type Layer struct{ Upper, Work string }

// Mask is a path inside that is hidden.
type Mask struct{ Path, Why string }

// File is a generated file, read-only inside.
type File struct {
	Dst  string
	Data []byte
	Why  string
	Exec bool // it is a program
}

// Link is a symlink of our own, for a workspace that the user reaches by one.
type Link struct{ At, To string }

// Sizes bound the private filesystems, in bytes.
type Sizes struct{ Tmp, Home, Shm, Run int64 }

// Own is where ringfence itself places files inside: a read-only note, a curated
// git config. Landlock gives no right to write there although the mount would,
// which is how a launch proves that Landlock is in force.
const Own = "/.ringfence"

// SystemPaths lists what of the operating system joins the view, if it exists.
// Of /etc only what programs need to start: the rest is synthetic or absent.
func SystemPaths() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
		"/etc/alternatives", "/etc/localtime", "/etc/timezone", "/etc/os-release", "/etc/debian_version",
		"/etc/lsb-release", "/etc/redhat-release", "/etc/alpine-release", "/etc/arch-release",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates.conf", "/etc/pki/tls/certs",
		"/etc/pki/ca-trust/extracted", "/etc/crypto-policies/back-ends",
		"/etc/services", "/etc/protocols", "/etc/rpc", "/etc/ethertypes", "/etc/gai.conf", "/etc/host.conf",
		"/etc/mime.types", "/etc/magic", "/etc/magic.mime", "/etc/terminfo", "/etc/inputrc", "/etc/bash.bashrc",
		"/etc/profile", "/etc/shells", "/etc/locale.alias", "/etc/locale.conf", "/etc/vconsole.conf",
		"/etc/fonts", "/etc/perl", "/etc/python3", "/etc/python3.11", "/etc/python3.12", "/etc/python3.13",
		"/etc/maven", "/etc/gradle", "/etc/java", "/etc/java-8-openjdk", "/etc/java-11-openjdk",
		"/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk", "/etc/lynx", "/etc/vim", "/etc/nanorc",
		"/etc/manpath.config", "/etc/ImageMagick-6", "/etc/texmf", "/etc/papersize", "/etc/php",
	}
}

// devices are the device nodes every program may expect, and no other.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// procMasks are the names in proc that tell of the host or of the kernel and
// that no tool needs. The mount itself is read-only: as uid 0 of the host the
// kernel would accept writes to /proc/sys without any capability.
func procMasks() []string {
	return []string{"/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg", "/proc/timer_list", "/proc/sched_debug",
		"/proc/sysrq-trigger", "/proc/acpi", "/proc/asound", "/proc/scsi", "/proc/irq", "/proc/bus", "/proc/driver",
		"/proc/kallsyms", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/latency_stats",
		"/proc/dynamic_debug", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/iomem", "/proc/ioports", "/proc/interrupts", "/proc/cmdline", "/proc/config.gz"}
}
