package world

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
)

// etc is what of /etc the host has of its own.
var etc = map[string]string{
	"/etc/hosts":         plainHosts,
	"/etc/resolv.conf":   "nameserver " + Router4 + "\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
}

const plainHosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"

// makeHost turns this process, which is alone in its network and its mounts, into
// the host: it makes the places, starts the internet and lays the cable.
func makeHost() error {
	if err := makePlaces(); err != nil {
		return err
	}
	if err := furnish(); err != nil {
		return err
	}
	net, err := startInternet()
	if err != nil {
		return fmt.Errorf("start the internet: %w", err)
	}
	if err := settings(map[string]string{"ipv6/conf/all/disable_ipv6": "0", "ipv6/conf/default/disable_ipv6": "0", "ipv6/conf/all/accept_dad": "0", "ipv6/conf/default/accept_dad": "0",
		"ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0", "ipv4/ping_group_range": pingers()}); err != nil {
		return err
	}
	if err := ip(
		"link set lo up",
		fmt.Sprintf("link add cable0 address %s type veth peer name cable1 address %s netns %d", hostMAC, routerMAC, net.pid),
		"addr add "+Host4+"/24 dev cable0",
		"addr add "+HostPrivate4+"/24 dev cable0",
		"addr add "+Host6+"/64 dev cable0 nodad",
		"addr add "+HostPrivate6+"/64 dev cable0 nodad",
		"link set cable0 up",
		"neigh replace "+Router4+" dev cable0 nud permanent lladdr "+routerMAC,
		"neigh replace "+Router6+" dev cable0 nud permanent lladdr "+routerMAC,
		"route add default via "+Router4,
		"route add default via "+Router6,
	); err != nil {
		return err
	}
	if err := net.open(); err != nil {
		return err
	}
	lifelines = append(lifelines, net.stdin)
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// pingers are the groups that may ping: all that there are, as on most machines.
func pingers() string {
	if gid := os.Getgid(); os.Getuid() != 0 {
		return fmt.Sprintf("%d\t%d", gid, gid)
	}
	return "0\t2147483647"
}

// Who is at the other end of a cable need not be asked for: the first connection
// would wait for the answer.
const hostMAC, routerMAC = "02:00:00:00:00:02", "02:00:00:00:00:01"

// makePlaces makes the directories of the world, on a /run of its own: that is
// there on every machine, and no stage hides it.
func makePlaces() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	targets := map[string]string{} // where a link of /etc leads, maybe into /run
	for name := range etc {
		to, err := filepath.EvalSymlinks(name)
		if err != nil {
			return err
		}
		targets[name] = to
	}
	if err := unix.Mount("world", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	for _, dir := range []string{root, bin, Net, Web} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{Net, Web} {
		if err := os.Chmod(dir, 0o1777); err != nil {
			return err
		}
	}
	for name, text := range etc {
		if err := lay(name, targets[name], text, 0o666); err != nil { // whoever plays may change it
			return err
		}
	}
	return enrol()
}

// enrol gives the ordinary user an account where root runs the tests: some programs
// start for nobody without one.
func enrol() error {
	if os.Getuid() != 0 {
		return nil
	}
	for name, line := range map[string]string{
		"/etc/passwd": fmt.Sprintf("player:x:%d:%d::%s:/bin/sh\n", ordinaryID, ordinaryID, stage.Home),
		"/etc/group":  fmt.Sprintf("player:x:%d:\n", ordinaryID),
	} {
		have, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := lay(name, name, string(have)+line, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// lay puts a file of ours over one of /etc.
func lay(name, target, text string, mode os.FileMode) error {
	own, err := os.CreateTemp(root, filepath.Base(name)+"-")
	if err != nil {
		return err
	}
	_, err = own.WriteString(text)
	if err := errors.Join(err, own.Chmod(mode), own.Close()); err != nil {
		return err
	}
	if _, err := os.Stat(target); err != nil { // it was in the other /run
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, nil, 0o644); err != nil {
			return err
		}
	}
	if err := unix.Mount(own.Name(), target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("lay a file over %s: %w", name, err)
	}
	return nil
}

// furnish brings the programs that were built.
func furnish() error {
	from := os.Getenv(worldBinEnv)
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(Program(e.Name()), data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// far is the internet, seen from the host. It ends when the pipe to it is closed, so
// that the pipe must not be collected.
type far struct {
	pid   int
	stdin io.WriteCloser
	said  *bufio.Reader
}

// lifelines keep the pipes from being collected.
var lifelines []io.Closer

// startInternet starts it; it waits for its end of the cable. It lives as long as
// this process, and everything that it starts as long as it does.
func startInternet() (*far, error) {
	cmd := reexec(internetName, unix.CLONE_NEWNS|unix.CLONE_NEWNET|unix.CLONE_NEWPID)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &far{pid: cmd.Process.Pid, stdin: stdin, said: bufio.NewReader(stdout)}, nil
}

// open tells the internet that the cable is there and waits until everything
// answers.
func (f *far) open() error {
	if _, err := fmt.Fprintln(f.stdin, cableReady); err != nil {
		return fmt.Errorf("the internet: %w", err)
	}
	if line, err := f.said.ReadString('\n'); err != nil || strings.TrimSpace(line) != internetReady {
		return fmt.Errorf("the internet did not open: %q, %v", line, err)
	}
	return nil
}

// The words between host and internet.
const (
	cableReady    = "cable"
	internetReady = "open"
)

// ip runs commands of the ip program in this network.
func ip(lines ...string) error {
	path := "/usr/sbin/ip"
	if _, err := os.Stat(path); err != nil {
		path = "/sbin/ip"
	}
	cmd := exec.Command(path, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out.String())
	}
	return nil
}

// settings sets what this network is to be like, where it is not so already.
func settings(want map[string]string) error {
	for name, value := range want {
		path := "/proc/sys/net/" + name
		if have, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(have)) == value {
			continue
		}
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return fmt.Errorf("setting: %w", err)
		}
	}
	return nil
}
