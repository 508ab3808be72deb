package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// devices looks through what the machine is made of for anything of the host's: memory, ports, the
// emulator's own box of files, the disk and what lies behind its end.
func devices() {
	note("memory device", search("/dev/mem", 0, 16<<20))
	note("firmware", search("/dev/port", 0, 0))
	f, err := os.OpenFile("/dev/vda", os.O_RDWR, 0)
	if err != nil {
		tell("disk", err)
		return
	}
	defer f.Close()
	size, _ := f.Seek(0, 2)
	_, err = f.WriteAt(make([]byte, 4096), size)
	tell("behind the disk", err)
	_, err = f.WriteAt(make([]byte, 4096), 10<<30)
	tell("10 GiB on", err)
}

// search reads a device, and says whether it has the secret that the session hides. Ports are read
// through the emulator's selector of files: each of its items to an end.
func search(at string, from, n int64) string {
	f, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		return "none"
	}
	defer f.Close()
	var got []byte
	if n > 0 {
		got = make([]byte, n)
		for i := int64(0); i < n; i += 4096 {
			f.ReadAt(got[i:i+4096], from+i)
		}
	} else {
		got = firmware(f)
	}
	if bytes.Contains(got, []byte(secretText())) {
		return "the secret"
	}
	return "nothing"
}

// firmware reads what the emulator hands to firmware: the kernel's name and arguments, tables, a
// list of files.
func firmware(f *os.File) (got []byte) {
	const selector, data = 0x510, 0x511
	b := make([]byte, 1)
	for key := range 0x40 {
		f.WriteAt([]byte{byte(key), byte(key >> 8)}, selector)
		for range 4096 {
			if _, err := f.ReadAt(b, data); err != nil {
				break
			}
			got = append(got, b[0])
		}
	}
	return got
}

// secretText is not in the memory of this program as it is in the host's files.
func secretText() string { return strings.Repeat("unseen"+string(rune('1')), 3) }

// wild writes to all that a machine is made of: registers of every device, ports, memory. Whatever
// becomes of the machine, it stays one. Then it makes the kernel stumble: also where the disk answers
// no more and holds up for ever who waits for it, while the link and the agent go on.
func wild() {
	unix.Mlockall(unix.MCL_CURRENT) // nor does the share answer that this program comes from
	stumble := func() { os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0) }
	time.AfterFunc(30*time.Second, stumble)
	os.Mkdir("/disk/sys", 0o755)
	unix.Mount("sys", "/disk/sys", "sysfs", 0, "")
	all, _ := filepath.Glob("/disk/sys/bus/pci/devices/*/config")
	for _, at := range all {
		f, err := os.OpenFile(at, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		for i := range int64(256) {
			f.WriteAt([]byte{0xff}, i)
		}
		f.Close()
	}
	if f, err := os.OpenFile("/dev/port", os.O_RDWR, 0); err == nil {
		for port := int64(0xc00); port < 0x10000; port += 4 {
			f.WriteAt([]byte{0xff, 0xff, 0xff, 0xff}, port)
		}
		f.Close()
	}
	if f, err := os.OpenFile("/dev/vda", os.O_RDWR, 0); err == nil {
		junk := bytes.Repeat([]byte{0xa5}, 1<<20)
		for i := range int64(64) {
			f.WriteAt(junk, i<<20)
		}
		unix.Fsync(int(f.Fd()))
		f.Close()
	}
	stumble()
}
