package decoy

import (
	"bytes"
	"crypto/rand"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The home directory of who is root in a user namespace, by the password file: ssh
// asks that and not the environment.
const inside = "/root"

// sandbox is a home directory with the decoys of a session, on the host.
type sandbox struct {
	home  string
	state string
	files []File
	hosts map[string]string
}

func lay(t *testing.T) sandbox {
	t.Helper()
	for _, tool := range []string{"unshare", "mount", "git", "ssh", "ssh-keygen", "ssh-agent", "npm", "node", "bash", "python3", "tar", "grep", "find"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Make(t.Name(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b := sandbox{home: t.TempDir(), state: t.TempDir(), files: s.Files(inside)}
	if b.hosts, err = Plant(b.state, b.files); err != nil {
		t.Fatal(err)
	}
	for _, f := range b.files {
		point := filepath.Join(b.home, strings.TrimPrefix(f.Path, inside))
		if err := os.MkdirAll(filepath.Dir(point), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(point, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// setting mounts the home directory and each decoy, read-only, in a mount namespace of
// an ordinary user, and leaves the rest to a script.
const setting = `set -eu
mount --bind "$1" "$2"; home=$2; script=$3; shift 3
while [ $# -gt 0 ]; do
	mount --bind "$1" "$2"
	mount -o remount,bind,ro "$2"
	! { echo x >>"$2"; } 2>/dev/null
	shift 2
done
cd "$home"
exec bash -c "$script"
`

// run plays a script inside and returns the decoys that were read.
func (b sandbox) run(t *testing.T, script string) []string {
	t.Helper()
	end := filepath.Join(t.TempDir(), "end")
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files := maps.Clone(b.hosts)
	files[end] = "end"
	told := make(chan Read, 100)
	w, err := Watch(files, false, func(r Read) { told <- r })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	argv := []string{"-Urm", "sh", "-c", setting, "sh", b.home, inside, "set -eu\n" + script}
	for _, f := range b.files {
		argv = append(argv, f.Host(b.state), f.Path)
	}
	cmd := exec.Command("unshare", argv...)
	cmd.Env = []string{"HOME=" + inside, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	// Events come in the order in which they happened.
	if _, err := os.ReadFile(end); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := range told {
		if r.Name == "end" {
			break
		}
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

// TestHonestWorkReadsNone: mounting, looking around and the tools whose directories
// the decoys lie in.
func TestHonestWorkReadsNone(t *testing.T) {
	b := lay(t)
	for what, script := range map[string]string{
		"mounting":        `true`,
		"mounting again":  `touch again; mount --bind .aws/credentials.bak again`,
		"login shell":     `bash -lc 'cd; pwd'; bash -ic true`,
		"listing":         `ls -laR . .ssh .aws .config; ls ~/.ssh/*; stat .env.production; test -r .ssh/id_ed25519_prod; du -a .; readlink -f .env.production`,
		"finding":         `find . -type f; find . -name '*.bak' -size +1c -printf '%p %s %u\n'`,
		"a descriptor":    `python3 -c 'import os; os.open(".ssh/id_ed25519_prod", os.O_PATH); os.path.getsize(".env.production")'`,
		"git":             `git init -q src; cd src; git status; echo x >x; git add x; git -c user.name=n -c user.email=e@x.test commit -qm x; git log; git config --global user.name n; git config --list`,
		"git in HOME":     `git init -q .; git status --short --untracked-files=all; git ls-files -o`,
		"git over ssh":    `export GIT_SSH_COMMAND='ssh -o ProxyCommand=false'; ! git ls-remote ssh://git@forge.test/a/b.git`,
		"ssh":             `ssh -G forge.test; ! ssh -o BatchMode=yes -o ProxyCommand=false forge.test`,
		"a key of one's":  `ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519; ssh-keygen -l -f .ssh/id_ed25519; ssh-agent ssh-add; ssh-keygen -Y sign -n git -f .ssh/id_ed25519 <.ssh/id_ed25519.pub`,
		"npm":             `npm --version; npm config ls -l; node -e 'require("fs").readdirSync(process.env.HOME)'`,
		"python":          `python3 -c 'import pathlib; print(list(pathlib.Path.home().rglob("*")))'`,
		"writing besides": `echo x >.ssh/known_hosts; echo x >.aws/config; mkdir -p .config/app; echo x >.config/app/settings; cat .ssh/known_hosts .aws/config`,
	} {
		t.Run(what, func(t *testing.T) {
			if names := b.run(t, script); len(names) > 0 {
				t.Errorf("%s\nreads %q", script, names)
			}
		})
	}
}

func TestTheftIsTold(t *testing.T) {
	b := lay(t)
	all := slices.Sorted(maps.Keys(places))
	for script, want := range map[string][]string{
		`cat ~/.ssh/id_ed25519_prod`:                                                       {SSHKey},
		`cp .aws/credentials.bak /dev/null`:                                                {AWSKey},
		`cp .aws/credentials.bak x; mv x y`:                                                {AWSKey},
		`python3 -c 'open(".config/github-token").read()'`:                                 {GitHubToken},
		`python3 -c 'import mmap,os; mmap.mmap(os.open(".env.production",0),9,prot=1)[0]'`: {EnvFile},
		`node -e 'require("fs").readFileSync(".env.production")'`:                          {EnvFile},
		`. ./.env.production`:                                                              {EnvFile},
		`base64 <.config/github-token`:                                                     {GitHubToken},
		`mount --rbind .ssh /mnt; cat /mnt/id_ed25519_prod`:                                {SSHKey},
		`ssh-keygen -y -f .ssh/id_ed25519_prod`:                                            {SSHKey},
		`! ssh -i .ssh/id_ed25519_prod -o ProxyCommand=false forge.test`:                   {SSHKey},
		`tar cf - . | cat >/dev/null`:                                                      all,
		`grep -r password . || true`:                                                       all,
		`git init -q .; git add .`:                                                         all,
		`for i in $(seq 50); do cat .env.production; done`:                                 {EnvFile}, // once
	} {
		t.Run(script, func(t *testing.T) {
			if names := b.run(t, script); !slices.Equal(names, want) {
				t.Errorf("%q are told, want %q", names, want)
			}
		})
	}
}

// TestToldAgain: after a while a decoy is watched as before, also for a descriptor
// that was opened meanwhile.
func TestToldAgain(t *testing.T) {
	host := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(host, bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan Read)
	w, err := watch(map[string]string{host: "f"}, unix.IN_OPEN|unix.IN_ACCESS, func(r Read) { told <- r }, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	f, err := os.Open(host)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if r := <-told; r.Name != "f" || r.Time.Before(before) {
		t.Errorf("told is %+v", r)
	}
	for again := false; !again; { // the watch may not be set yet
		if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
			t.Fatal(err)
		}
		select {
		case <-told:
			again = true
		case <-time.After(time.Millisecond):
		}
	}
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	for open := true; open; {
		select {
		case <-told: // that were on their way
		case err := <-closed:
			if open = false; err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWatchNeedsTheFile(t *testing.T) {
	if _, err := Watch(map[string]string{filepath.Join(t.TempDir(), "none"): "lost"}, false, nil); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("error is %v", err)
	}
}

// TestReadAtTheEnd: what was read just before the watch is closed is told.
func TestReadAtTheEnd(t *testing.T) {
	files := map[string]string{}
	for n := range 100 {
		path := filepath.Join(t.TempDir(), "decoy")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		files[path] = strconv.Itoa(n)
	}
	told, closing := map[string]bool{}, make(chan struct{})
	w, err := Watch(files, false, func(r Read) {
		<-closing // nobody was as quick as that
		told[r.Name] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range files {
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		defer close(closing)
		for closed := false; !closed; runtime.Gosched() {
			w.mu.Lock()
			closed = w.closed
			w.mu.Unlock()
		}
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(told) != len(files) {
		t.Errorf("%d of %d were told", len(told), len(files))
	}
}
