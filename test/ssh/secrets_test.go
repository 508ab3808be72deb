package ssh

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Nothing secret is ever there: not on its disk, not in the memory, the environment or the
// arguments of what runs there for us.
func TestNothingSecretThere(t *testing.T) {
	w := newWorld(t)
	secrets := map[string]string{}
	secret := func(what, prefix string) string {
		secrets[what] = prefix + rand.Text() + rand.Text()
		return secrets[what]
	}
	w.put(".env", "API_KEY="+secret("dotenv", "sk-live-")+"\n")
	w.put("masked/by-flag", secret("flag", "mask-")+"\n")
	w.put("masked-dir/in/here", secret("dir", "mask-")+"\n")
	w.do("/usr/bin/git", "init", "-q", ".")
	w.do("/usr/bin/git", "remote", "add", "origin", "https://me:"+secret("remote", "ghp_")+"@forge.test/me/x.git")
	w.put(".git-credentials", "https://me:"+secret("stored", "ghp_")+"@forge.test\n")
	w.put("deep/er/.env.production", "DB_PASSWORD="+secret("deep", "pw-")+"\n")
	w.put(filepath.Join(w.home, ".aws/credentials"), "[default]\naws_secret_access_key = "+secret("aws", "aws-")+"\n")
	w.put(filepath.Join(w.home, ".netrc"), "machine x.test login a password "+secret("netrc", "net-")+"\n")
	w.put(filepath.Join(w.home, ".ssh/id_ed25519"), secret("key", "-----BEGIN OPENSSH PRIVATE KEY-----\n"))
	w.extra = []string{"ANTHROPIC_API_KEY=" + secret("anthropic", "sk-ant-api03-"), "GITHUB_TOKEN=" + secret("github", "ghp_"), "AWS_SECRET_ACCESS_KEY=" + secret("awsenv", "awsenv-")}
	const public = "everybody-may-read-this-5b1f"
	w.put("readme", public+"\n")
	w.flags = []string{"--mask", "masked/by-flag", "--mask", "masked-dir"}
	s := w.begin("box", "searched", `cat readme .env masked/by-flag deep/er/.env.production; env; echo up; read x`)
	disk, memory := searchDisk(t), searchMemory(t)
	if _, found := found(disk, public); !found {
		t.Fatal("the search finds not even what is there")
	}
	if os.Getuid() == 0 {
		if where, found := found(memory, "ringfence-there"); !found || !strings.Contains(where, "/mem ") {
			t.Fatal("the search of memory finds not even what is there")
		}
	}
	b, _ := os.ReadFile(s.out.at)
	disk["what the agent saw"] = b
	for what, value := range secrets {
		for _, all := range []map[string][]byte{disk, memory} {
			if where, bad := found(all, value); bad {
				t.Errorf("%s is in %s", what, where)
			}
		}
	}
	s.Process.Kill()
	s.end(t)
	w.quiet()
}

func found(in map[string][]byte, text string) (string, bool) {
	for name, b := range in {
		if bytes.Contains(b, []byte(text)) {
			return name, true
		}
	}
	return "", false
}

// searchDisk reads all files of the other machine's user. Who is not root reads them by that
// user.
func searchDisk(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	if os.Getuid() != 0 {
		w := &user{t: t, home: "/srv/home", project: "/srv/home"}
		out["the home there"] = w.output("/srv/bin/ssh", "box", "find . -type f -not -path '*/ringfence/*/ringfence' -exec cat {} +")
		return out
	}
	err := filepath.WalkDir(there, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // gone by now
		}
		b, err := os.ReadFile(p)
		out[p] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// searchMemory reads what the processes of the other machine's user hold. Only root can.
func searchMemory(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	if os.Getuid() != 0 {
		t.Log("memory is searched by root alone")
		return out
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		dir := "/proc/" + e.Name()
		status, err := os.ReadFile(dir + "/status")
		if _, nerr := strconv.Atoi(e.Name()); nerr != nil || err != nil || !bytes.Contains(status, fmt.Appendf(nil, "\nUid:\t%d\t", thereID)) {
			continue
		}
		out[dir+"/environ"], _ = os.ReadFile(dir + "/environ") // the arguments lie in memory
		writable(dir, out)
	}
	return out
}

// writable reads the parts of a process that it may write.
func writable(dir string, out map[string][]byte) {
	maps, err := os.Open(dir + "/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	mem, err := os.Open(dir + "/mem")
	if err != nil {
		return
	}
	defer mem.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to int64
		var rights string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights); n != 3 || !strings.HasPrefix(rights, "rw") || to-from > 256<<20 {
			continue
		}
		b := make([]byte, to-from)
		if n, _ := mem.ReadAt(b, from); n > 0 {
			out[dir+"/mem "+lines.Text()] = b[:n]
		}
	}
}
