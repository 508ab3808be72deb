package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bad is an address where nothing is mapped: a call that gets as far as to use it
// answers EFAULT, and has done no harm.
const bad = 8

// Descriptors: none is not open, here is the working directory.
const (
	none = ^uintptr(0)
	here = ^uintptr(99) // AT_FDCWD
)

// What the calls below point to; it stays where it is.
var (
	rootPath  = [2]byte{'/'}
	tmpfsName = [6]byte{'t', 'm', 'p', 'f', 's'}
	emptyAttr [256]byte
)

// userCalls are system calls with arguments to which a kernel without our filter
// answers with anything but EPERM or ENOSYS, if the caller is root of its own user
// namespace. None of them changes anything, whoever makes it.
func userCalls() map[string][]uintptr {
	self := uintptr(os.Getpid())
	root, tmpfs := uintptr(unsafe.Pointer(&rootPath)), uintptr(unsafe.Pointer(&tmpfsName))
	attr := uintptr(unsafe.Pointer(&emptyAttr))
	return map[string][]uintptr{
		"mount":             {unix.SYS_MOUNT, bad, bad, bad, 0, 0},
		"umount2":           {unix.SYS_UMOUNT2, bad, 0},
		"pivot_root":        {unix.SYS_PIVOT_ROOT, bad, bad},
		"chroot":            {unix.SYS_CHROOT, bad},
		"open_tree":         {unix.SYS_OPEN_TREE, here, root, unix.OPEN_TREE_CLONE},
		"move_mount":        {unix.SYS_MOVE_MOUNT, none, bad, none, bad, 0},
		"fsopen":            {unix.SYS_FSOPEN, tmpfs, 0},
		"fsconfig":          {unix.SYS_FSCONFIG, none, 0, 0, 0, 0},
		"fsmount":           {unix.SYS_FSMOUNT, none, 0, 0},
		"fspick":            {unix.SYS_FSPICK, none, bad, 0},
		"mount_setattr":     {unix.SYS_MOUNT_SETATTR, none, bad, 0, attr, 32},
		"setns":             {unix.SYS_SETNS, none, 0},
		"unshare":           {unix.SYS_UNSHARE, unix.CLONE_NEWUTS},
		"clone":             {unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_FS, 0, 0, 0, 0},
		"clone3":            {unix.SYS_CLONE3, bad, 64},
		"add_key":           {unix.SYS_ADD_KEY, bad, bad, 0, 0, 0},
		"request_key":       {unix.SYS_REQUEST_KEY, bad, bad, 0, 0},
		"keyctl":            {unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0}, // -3: the session keyring
		"perf_event_open":   {unix.SYS_PERF_EVENT_OPEN, bad, 0, none, none, 0},
		"userfaultfd":       {unix.SYS_USERFAULTFD, 1}, // faults of user mode only, which anybody may ask for,
		"io_uring_setup":    {unix.SYS_IO_URING_SETUP, 1, bad},
		"io_uring_enter":    {unix.SYS_IO_URING_ENTER, none, 0, 0, 0, 0, 0},
		"io_uring_register": {unix.SYS_IO_URING_REGISTER, none, 0, 0, 0},
		"process_vm_readv":  {unix.SYS_PROCESS_VM_READV, self, 0, 0, 0, 0, 0},
		"process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, self, 0, 0, 0, 0, 0},
		"pidfd_getfd":       {unix.SYS_PIDFD_GETFD, none, 0, 0},
		"process_madvise":   {unix.SYS_PROCESS_MADVISE, none, 0, 0, 0, 0},
		"kcmp":              {unix.SYS_KCMP, self, self, 0, 0, 0},
		"fanotify_init":     {unix.SYS_FANOTIFY_INIT, unix.FAN_REPORT_FID, 0},
		"name_to_handle_at": {unix.SYS_NAME_TO_HANDLE_AT, here, bad, bad, bad, 0},
		"personality":       {unix.SYS_PERSONALITY, 0x0040000}, // no address randomisation
		"remap_file_pages":  {unix.SYS_REMAP_FILE_PAGES, 1, 0, 1, 0, 0},
		"mknodat":           {unix.SYS_MKNODAT, none, bad, unix.S_IFCHR, 0},
		"memfd_secret":      {unix.SYS_MEMFD_SECRET, 0},
		"set_mempolicy":     {unix.SYS_SET_MEMPOLICY, 99, 0, 0},
		"move_pages":        {unix.SYS_MOVE_PAGES, self, 1, bad, 0, bad, 0},
	}
}

// hostCalls are those with which only the host's root gets further than EPERM;
// some kernels let others come as far as the arguments.
func hostCalls() map[string][]uintptr {
	self := uintptr(os.Getpid())
	return map[string][]uintptr{
		"bpf":            {unix.SYS_BPF, 0, bad, 16},
		"kexec_load":     {unix.SYS_KEXEC_LOAD, 0, 1 << 20, 0, 0},
		"init_module":    {unix.SYS_INIT_MODULE, bad, 64, bad},
		"finit_module":   {unix.SYS_FINIT_MODULE, none, bad, 0},
		"delete_module":  {unix.SYS_DELETE_MODULE, bad, 0},
		"reboot":         {unix.SYS_REBOOT, 0, 0, 0, 0},
		"acct":           {unix.SYS_ACCT, bad},
		"swapon":         {unix.SYS_SWAPON, bad, 0},
		"swapoff":        {unix.SYS_SWAPOFF, bad},
		"settimeofday":   {unix.SYS_SETTIMEOFDAY, bad, 0},
		"clock_settime":  {unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, bad},
		"adjtimex":       {unix.SYS_ADJTIMEX, bad},
		"syslog":         {unix.SYS_SYSLOG, 99, 0, 0},
		"open_by_handle": {unix.SYS_OPEN_BY_HANDLE_AT, here, bad, 0},
		"quotactl":       {unix.SYS_QUOTACTL, 0xffffff00, bad, 0, 0},
		"sethostname":    {unix.SYS_SETHOSTNAME, bad, 8},
		"setdomainname":  {unix.SYS_SETDOMAINNAME, bad, 8},
		"migrate_pages":  {unix.SYS_MIGRATE_PAGES, self, 64, bad, bad},
	}
}
