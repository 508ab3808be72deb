package control

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

func serveOne(t *testing.T, session string, patience time.Duration) {
	t.Helper()
	l, err := listen(session, func(q Request) Reply {
		switch q.Do {
		case "status":
			return Reply{Status: &Status{Session: session, Mode: "dev"}}
		case "grant":
			return Reply{Grant: &Grant{Rule: q.Rule, Expires: time.Unix(int64(q.For/time.Second), 0)}}
		}
		return Reply{Error: "not known"}
	}, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

// name is an id that no other test has.
func name(t *testing.T) string {
	h := fnv.New64a()
	fmt.Fprint(h, os.Getpid(), t.Name())
	return fmt.Sprintf("%010x", h.Sum64())[:10]
}

// A session that has a name is asked by it, and no two have the same.
func TestName(t *testing.T) {
	id := "name-" + name(t)
	serveOne(t, id, patience)
	if _, err := Ask(id, Request{Do: "status"}); err != nil {
		t.Error(err)
	}
	if _, err := Listen(id, nil); err == nil {
		t.Error("a second session has the same name")
	}
	if ids, err := Sessions(); err != nil || slices.Contains(ids, id) {
		t.Errorf("a name is listed as an id: %q, %v", ids, err)
	}
}

// Somebody who says nothing is waited for, and harms nobody.
func TestSilence(t *testing.T) {
	id := name(t)
	serveOne(t, id, time.Second)
	c, err := net.Dial("unix", prefix()+id)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(wait.Patience))
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
		t.Errorf("%q, %v", b, err)
	}
	wait.Eventually(t, "an answer for somebody else", func() bool {
		_, err := Ask(id, Request{Do: "status"})
		return err == nil
	})
}

// Descriptors go both ways, and frames follow where the answer says so.
func TestCall(t *testing.T) {
	id := name(t)
	l, err := Listen(id, func(q Request) Reply {
		b := make([]byte, 5)
		n, _ := q.Files[0].Read(b)
		closeAll(q.Files)
		r, w, err := os.Pipe()
		if err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{Files: []*os.File{r}, Then: func(c *Conn) {
			w.Write(b[:n])
			w.Close()
			kind, body, err := c.Receive()
			if err == nil {
				c.Send(kind, body)
			}
			c.SendStatus(7)
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString("hello")
	reply, c, err := Call(id, Request{Do: "exec", Files: []*os.File{r}})
	if err != nil || len(reply.Files) != 1 {
		t.Fatalf("%+v, %v", reply, err)
	}
	defer c.Close()
	closeAll([]*os.File{r, w})
	if b, err := io.ReadAll(reply.Files[0]); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	closeAll(reply.Files)
	long := bytes.Repeat([]byte("x"), maxBody)
	if err := c.Send(Keys, long); err != nil {
		t.Fatal(err)
	}
	if kind, body, err := c.Receive(); err != nil || kind != Keys || !bytes.Equal(body, long) {
		t.Errorf("%c, %d bytes, %v", kind, len(body), err)
	}
	kind, body, err := c.Receive()
	if status, ok := StatusOf(body); err != nil || kind != Exited || !ok || status != 7 {
		t.Errorf("%c, %q, %v", kind, body, err)
	}
	if _, _, err := c.Receive(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

func TestAsk(t *testing.T) {
	id := name(t)
	serveOne(t, id, patience)
	r, err := Ask(id, Request{Do: "status"})
	if err != nil || r.Status == nil || r.Status.Session != id {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err = Ask(id, Request{Do: "grant", Rule: "a.test", For: time.Minute})
	if err != nil || r.Grant.Rule != "a.test" || !r.Grant.Expires.Equal(time.Unix(60, 0)) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := Ask(id, Request{Do: "frob"}); err == nil {
		t.Error("an unknown request was answered")
	}
	ids, err := Sessions()
	if err != nil || !slices.Contains(ids, id) {
		t.Errorf("%q is not among %q, %v", id, ids, err)
	}
	if _, err := Ask(id+"x", Request{Do: "status"}); err == nil {
		t.Error("a session that is not there answered")
	}
}

// TestMute: who connects and says nothing loses the place that somebody else needs, long
// before its time is over.
func TestMute(t *testing.T) {
	id := name(t)
	serveOne(t, id, time.Hour)
	for range 2 * maxClients {
		c, err := net.Dial("unix", prefix()+id)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if _, err := Ask(id, Request{Do: "status"}); err != nil {
		t.Error(err)
	}
}

// Bytes that are no request get an error and harm nobody.
func TestGarbage(t *testing.T) {
	id := name(t)
	serveOne(t, id, patience)
	for _, garbage := range []string{"", "\n", "{", "[]", `{"do":"status","x":1}`, strings.Repeat("a", maxMessage+10)} {
		c, err := net.Dial("unix", prefix()+id)
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte(garbage))
		c.(*net.UnixConn).CloseWrite()
		b := make([]byte, 1024)
		n, _ := c.Read(b)
		if n > 0 && !strings.Contains(string(b[:n]), `"error"`) {
			t.Errorf("%.20q: %q", garbage, b[:n])
		}
		c.Close()
	}
	if _, err := Ask(id, Request{Do: "status"}); err != nil {
		t.Error(err)
	}
}

// Somebody in another user namespace is not answered, though he has the same uid.
func TestOtherNamespace(t *testing.T) {
	if id := os.Getenv("CONTROL_ASK"); id != "" {
		_, err := Ask(id, Request{Do: "status"})
		fmt.Printf("said: %v\n", err)
		return
	}
	id := name(t)
	serveOne(t, id, patience)
	for what, flags := range map[string]uintptr{"user": syscall.CLONE_NEWUSER, "same": 0} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestOtherNamespace$", "-test.v")
		cmd.Env = append(os.Environ(), "CONTROL_ASK="+id)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if flags != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		answered := strings.Contains(string(out), "said: <nil>")
		if answered != (what == "same") {
			t.Errorf("%s: %s", what, out)
		}
	}
}
