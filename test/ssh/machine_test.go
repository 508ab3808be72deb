package ssh

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/agents/npm"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// The places of the other machine, and the port of its sshd.
const (
	there = "/srv/there"
	small = "/srv/small-there" // whose cache has room for our program, and little more
	tiny  = "/srv/tiny-there"  // whose cache has no room for it
	keys  = "/srv/keys"
	relay = "/srv/bin/relay"
	liars = "/srv/bin/liar" // the shell of one who lies
	port  = "2222"

	agents = "/opt" // where the other machine has its agents
)

// thereID is the user of the other machine, where the stage can have a second one.
const thereID = 4242

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "relay" {
		os.Exit(relayMain(os.Args[1:]))
	}
	if filepath.Base(os.Args[0]) == "liar" {
		os.Exit(liarMain(os.Args[1:]))
	}
	stage.Before = machine
	stage.Main(m)
}

// machine makes the other machine.
func machine(uid, gid int) error {
	far, farGroup := thereID, thereID
	if os.Getuid() != 0 {
		far, farGroup = uid, gid // a stage in a user namespace has one user
	}
	if err := unix.Mount("stage", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	modules, err := npm.Modules() // before /etc/passwd is another one
	if err == nil {
		err = unix.Mount(modules, agents, "", unix.MS_BIND, "")
	}
	if err != nil {
		return err
	}
	err = errors.Join(people(uid, gid, far, farGroup), homes(far, farGroup), os.Mkdir("/run/sshd", 0o755))
	if err == nil {
		err = makeKeys(uid, gid)
	}
	if err == nil {
		err = copySelf()
	}
	if err == nil {
		err = serve()
	}
	return err
}

// people are the users of the stage, in files that lie over those of the machine.
func people(uid, gid, far, farGroup int) error {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return err
	}
	passwd = fmt.Appendf(passwd, "here:x:%d:%d::%s:/bin/sh\n", uid, gid, stage.Home)
	shadow, _ := os.ReadFile("/etc/shadow") // nobody's but root's to read
	for name, home := range map[string]string{"there": there, "small": small, "tiny": tiny} {
		passwd = fmt.Appendf(passwd, "%s:x:%d:%d::%s:/bin/bash\n", name, far, farGroup, home)
		shadow = fmt.Appendf(shadow, "%s:*:19000:0:99999:7:::\n", name)
	}
	passwd = fmt.Appendf(passwd, "liar:x:%d:%d::%s:%s\n", far, farGroup, there, liars)
	shadow = fmt.Appendf(shadow, "liar:*:19000:0:99999:7:::\n")
	cover := func(name string, data []byte, mode os.FileMode) error {
		own := "/srv/" + filepath.Base(name)
		if err := os.WriteFile(own, data, mode); err != nil {
			return err
		}
		return unix.Mount(own, name, "", unix.MS_BIND, "")
	}
	err = cover("/etc/passwd", passwd, 0o644)
	if err == nil && os.Getuid() == 0 {
		err = cover("/etc/shadow", shadow, 0o600)
	}
	return err
}

// homes are those of the other machine.
func homes(far, farGroup int) error {
	for home, size := range map[string]string{there: "", small: "64m", tiny: "1m"} {
		cache := filepath.Join(home, ".cache")
		if err := os.MkdirAll(cache, 0o700); err != nil {
			return err
		}
		if size != "" {
			if err := unix.Mount("stage", cache, "tmpfs", 0, "mode=700,size="+size); err != nil {
				return err
			}
		}
		if err := errors.Join(os.Chown(home, far, farGroup), os.Chown(cache, far, farGroup)); err != nil {
			return err
		}
	}
	// A shell there may print what it likes.
	return os.WriteFile(filepath.Join(there, ".bashrc"), []byte("echo welcome to this machine\nPATH="+agents+"/.bin:$PATH\n"), 0o644)
}

// makeKeys makes those of the machine and of the user here.
func makeKeys(uid, gid int) error {
	if err := os.Mkdir(keys, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"host", "user"} {
		at := filepath.Join(keys, name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at).CombinedOutput(); err != nil {
			return fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	return os.Chown(filepath.Join(keys, "user"), uid, gid)
}

// copySelf puts this program where every user can run it, as what stands between the two.
func copySelf() error {
	data, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(relay, data, 0o755), os.Link(relay, liars))
	}
	return err
}

// serve starts sshd, and the client's settings.
func serve() error {
	conf := filepath.Join(keys, "sshd_config")
	text := "Port " + port + "\nListenAddress 127.0.0.1\nHostKey " + keys + "/host\nAuthorizedKeysFile " + keys + "/user.pub\n" +
		"PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nMaxStartups 100\n"
	config := "Host *\n  HostName 127.0.0.1\n  Port " + port + "\n  IdentityFile " + keys + "/user\n  IdentitiesOnly yes\n" +
		"  StrictHostKeyChecking yes\n  UserKnownHostsFile " + keys + "/known\n  LogLevel ERROR\n" +
		"Host box relayed slow lossy usual\n  User there\nHost liar\n  User liar\nHost small\n  User small\nHost tiny\n  User tiny\n" +
		"Host relayed\n  ProxyCommand " + relay + " 0\nHost slow\n  ProxyCommand " + relay + " 100\nHost usual\n  ProxyCommand " + relay + " 25\nHost lossy\n  ProxyCommand " + relay + " 100 1\n"
	pub, err := os.ReadFile(filepath.Join(keys, "host.pub"))
	if err != nil {
		return err
	}
	for name, data := range map[string]string{conf: text, filepath.Join(keys, "config"): config,
		filepath.Join(keys, "known"): "[127.0.0.1]:" + port + " " + string(pub), "/srv/bin/ssh": "#!/bin/sh\nexec /usr/bin/ssh -F " + keys + "/config \"$@\"\n"} {
		if err := os.WriteFile(name, []byte(data), 0o755); err != nil {
			return err
		}
	}
	log, err := os.Create(filepath.Join(keys, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", conf)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: run `make tools`", err)
	}
	up := wait.For(func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	if !up {
		return errors.New("sshd does not answer")
	}
	return nil
}
