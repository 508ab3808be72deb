// Command attacker is root of a guest: it broke out of the walls there, and tries what else it
// can reach. What became of that it writes into the session's own layer.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

var (
	share, upper string
	farEnd       int
	told         bytes.Buffer
)

func main() {
	if len(os.Args) > 4 {
		hog()
	}
	share, upper = os.Args[1], os.Args[2]
	farEnd, _ = strconv.Atoi(os.Args[3])
	agent := await()
	mode, err := os.ReadFile(filepath.Join(share, "mode"))
	if err != nil {
		tell("mode", err)
	}
	switch string(mode) {
	case "careful": // whatever it does, the machine goes on
		files()
		devices()
		network(agent)
		fill()
	case "rough": // the machine may end of it
		give()
		memory()
		wild()
	case "forge":
		forge()
	case "silent":
		unix.Kill(farEnd, unix.SIGSTOP)
		select {}
	}
	publish("attacks")
	unix.Kill(agent, unix.SIGUSR1)
}

// publish writes what was told so far into the layer, as the agent would.
func publish(name string) {
	at := filepath.Join(upper, name)
	os.WriteFile(at, told.Bytes(), 0o644)
	var st unix.Stat_t
	unix.Stat(upper, &st)
	os.Chown(at, int(st.Uid), int(st.Gid))
}

// tell notes what became of an attack.
func tell(name string, err error) {
	what := "done"
	if e, ok := err.(interface{ Unwrap() error }); ok {
		err = e.Unwrap()
	}
	if err != nil {
		what = err.Error()
	}
	fmt.Fprintf(&told, "%s: %s\n", name, what)
}

func note(name, what string) { fmt.Fprintf(&told, "%s: %s\n", name, what) }

// await waits for the agent, which has made a file by then.
func await() int {
	for ; ; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(upper, "kept")); err != nil {
			continue
		}
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range all {
			b, err := os.ReadFile(p)
			if err == nil && bytes.HasPrefix(b, []byte("sh\x00")) && bytes.Contains(b, []byte("agent-waits")) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
				return pid
			}
		}
	}
}

// files attacks the share.
func files() {
	note("secrets", strings.Join(secrets(), " "))
	tell("remounted", unix.Mount("", "/share", "", unix.MS_REMOUNT, ""))
	attempts(share, "")
	os.Mkdir("/disk/again", 0o755)
	err := unix.Mount("share", "/disk/again", "9p", 0, "trans=virtio,version=9p2000.L,access=any,cache=none")
	tell("mounted again", err)
	if err == nil {
		attempts(filepath.Join("/disk/again", strings.TrimPrefix(share, "/share")), " again")
	}
	_, err = os.Stat("/share/../machine/disk")
	tell("above", err)
	var names []string
	os.Mkdir("/disk/sys", 0o755)
	tell("sysfs", unix.Mount("sys", "/disk/sys", "sysfs", 0, ""))
	for _, at := range []string{"/sys/block", "/sys/class/net"} {
		entries, _ := os.ReadDir("/disk" + at)
		names = nil
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "loop") {
				names = append(names, e.Name())
			}
		}
		note(map[string]string{"/sys/block": "disks", "/sys/class/net": "interfaces"}[at], strings.Join(names, " "))
	}
	names = nil
	classes, _ := filepath.Glob("/disk/sys/bus/pci/devices/*/class")
	for _, c := range classes {
		if b, _ := os.ReadFile(c); bytes.HasPrefix(b, []byte("0x02")) {
			names = append(names, c)
		}
	}
	note("network devices", strings.Join(names, " "))
}

// secrets lists the files of the share that hold what the session hides.
func secrets() (out []string) {
	filepath.WalkDir(share, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "attacker" {
			if b, err := os.ReadFile(p); err == nil && bytes.Contains(b, []byte("hunter2hunter2")) {
				out = append(out, d.Name())
			}
		}
		return nil
	})
	return out
}

func attempts(dir, which string) {
	at := filepath.Join(dir, "file")
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = f.WriteString("the guest's\n")
	}
	tell("write"+which, err)
	_, err = os.OpenFile(filepath.Join(dir, "made"), os.O_WRONLY|os.O_CREATE, 0o644)
	tell("create"+which, err)
	if which != "" {
		return
	}
	tell("remove", os.Remove(at))
	tell("chmod", os.Chmod(at, 0o777))
	err = os.Link(at, filepath.Join(dir, "linked"))
	if e, ok := err.(*os.LinkError); ok {
		err = e.Err
	}
	tell("link", err)
	err = os.Rename(at, filepath.Join(dir, "moved"))
	if e, ok := err.(*os.LinkError); ok {
		err = e.Err
	}
	tell("rename", err)
}

// network takes the rules of the agent's network away, and connects from there and from the
// guest's own.
func network(agent int) {
	canaries, _ := os.ReadFile(filepath.Join(share, "canaries"))
	n := 0
	reach := func() {
		for c := range strings.FieldsSeq(string(canaries)) {
			if conn, err := net.DialTimeout("tcp", c, 2*time.Second); err == nil {
				conn.SetReadDeadline(time.Now().Add(2 * time.Second))
				conn.Read(make([]byte, 1))
				n++
			}
		}
	}
	reach()
	runtime.LockOSThread()
	ns, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", agent), unix.O_RDONLY, 0)
	if err == nil {
		err = unix.Setns(ns, unix.CLONE_NEWNET)
	}
	if err == nil {
		c := &nftables.Conn{}
		c.FlushRuleset()
		err = c.Flush()
	}
	tell("flushed", err)
	reach()
	note("reached", strconv.Itoa(n))
}

// hog takes memory until it is ended.
func hog() {
	for {
		take(16 << 20)
	}
}

// take takes memory that is then really there.
func take(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	for i := 0; err == nil && i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

// give takes memory and gives it up again, each when somebody inside says so.
func give() {
	b := take(300 << 20)
	publish("taken")
	awaitFile("give")
	unix.Munmap(b)
	publish("given")
	awaitFile("on")
}

func awaitFile(name string) {
	for _, err := os.Stat(filepath.Join(upper, name)); err != nil; _, err = os.Stat(filepath.Join(upper, name)) {
		time.Sleep(100 * time.Millisecond)
	}
}

// fill writes to the disk until there is no more.
func fill() {
	at := "/disk/full"
	f, err := os.Create(at)
	var n int
	for b := make([]byte, 1<<20); err == nil && n < 10<<10; n++ {
		if _, err = f.Write(b); err == nil && n%64 == 63 {
			err = f.Sync()
		}
	}
	note("written", fmt.Sprintf("%d MiB", n-1))
	f.Close()
	os.Remove(at)
}

// memory lets somebody take memory until there is no more.
func memory() {
	p, err := os.StartProcess("/proc/self/exe", append([]string{"attacker"}, append(os.Args[1:4:4], "hog")...), &os.ProcAttr{})
	if err != nil {
		tell("memory", err)
		return
	}
	s, err := p.Wait()
	if err == nil && s.Sys().(syscall.WaitStatus).Signaled() {
		note("memory", "ended")
		return
	}
	note("memory", fmt.Sprint(s, err))
}

// forge takes the link over, while the far end stands still, and says what nobody may say.
func forge() {
	unix.Kill(farEnd, unix.SIGSTOP)
	pidfd, err := unix.PidfdOpen(farEnd, 0)
	if err != nil {
		panic(err)
	}
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", farEnd))
	for _, p := range all {
		to, _ := os.Readlink(p)
		if !strings.Contains(to, "vport") {
			continue
		}
		n, _ := strconv.Atoi(filepath.Base(p))
		if fd, err := unix.PidfdGetfd(pidfd, n, 0); err == nil {
			unix.Write(fd, bytes.Repeat([]byte{0xff}, 4096))
		}
	}
	select {}
}
