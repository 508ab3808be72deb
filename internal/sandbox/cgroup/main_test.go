package cgroup

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary is also the janitor and the processes that the limits are
// tried on.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case JanitorArg:
			os.Exit(JanitorMain(os.Args[2:]))
		case "__spawn":
			os.Exit(spawn())
		case "__hog":
			os.Exit(hog())
		case "__open":
			os.Exit(openAndWait(os.Args[2]))
		case "__wait":
			waitForEOF()
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// waitForEOF is how a helper waits to be joined, and to be let go.
func waitForEOF() { _, _ = io.Copy(io.Discard, os.Stdin) }

// awaitGo waits for one byte: by then the test has put us in the group.
func awaitGo() bool {
	var b [1]byte
	_, err := io.ReadFull(os.Stdin, b[:])
	return err == nil
}

// spawn starts 40 processes at most and prints how many it was granted.
func spawn() int {
	if !awaitGo() {
		return 1
	}
	started := 0
	for range 40 {
		c := exec.Command("sleep", "60")
		if err := c.Start(); err != nil {
			fmt.Println(err)
			break
		}
		started++
		defer func() { c.Process.Kill(); c.Wait() }()
	}
	fmt.Println(started)
	return 0
}

// hog touches 192 MiB, page by page.
func hog() int {
	if !awaitGo() {
		return 1
	}
	b, err := unix.Mmap(-1, 0, 192<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return 1
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	fmt.Println("touched")
	return 0
}

// openAndWait is a supervisor that is going to be killed: it makes a group, puts
// a process in and tells the test what there is to look for.
func openAndWait(session string) int {
	g, _, err := Open(session, Limits{Pids: 50, Memory: 64 << 20})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		return 1
	}
	if err := g.Join(c.Process.Pid); err != nil {
		fmt.Println(err)
		return 1
	}
	janitor := 0
	if g.janitor != nil {
		janitor = g.janitor.pid()
	}
	fmt.Println(strconv.Itoa(janitor), strconv.Itoa(c.Process.Pid))
	for _, dir := range g.dirs() {
		fmt.Println(dir)
	}
	fmt.Println("end")
	waitForEOF()
	return 1
}
