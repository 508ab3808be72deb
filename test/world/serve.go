package world

import (
	"encoding/json"
	"net"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// Prepare runs a program on the internet, as ServerUser, and returns its output. It
// must succeed.
func (w *World) Prepare(argv ...string) string {
	w.t.Helper()
	c := w.startServer(argv)
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	out, last, err := follow(c)
	if err != nil || last.Error != "" || last.Status != 0 {
		w.t.Fatalf("%q on the internet: %v, %s, status %d\n%s", argv, err, last.Error, last.Status, out)
	}
	return string(out)
}

// Serve starts a program on the internet, as ServerUser, that runs until the end of
// the test and answers at address.
func (w *World) Serve(address string, argv ...string) {
	w.t.Helper()
	c := w.startServer(argv)
	ended := make(chan string, 1)
	go func() {
		out, last, _ := follow(c)
		ended <- string(out) + last.Error
	}()
	w.t.Cleanup(func() {
		c.Close()
		if out := <-ended; w.t.Failed() {
			w.t.Logf("%q on the internet:\n%s", argv, out)
		}
	})
	deadline := time.After(wait.Patience)
	for {
		if probe, err := net.Dial("tcp", address); err == nil {
			probe.Close()
			break
		}
		select {
		case out := <-ended:
			ended <- out
			w.t.Fatalf("%q on the internet ended:\n%s", argv, out)
		case <-deadline:
			w.t.Fatalf("%q on the internet does not answer at %s", argv, address)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (w *World) startServer(argv []string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("unix", socketFile)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.NewEncoder(c).Encode(request{Do: "run", Argv: argv}); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// follow collects the output of a program until it ends.
func follow(c net.Conn) (out []byte, last reply, err error) {
	d := json.NewDecoder(c)
	for {
		var r reply
		if err := d.Decode(&r); err != nil {
			return out, r, err
		}
		out = append(out, r.Output...)
		if r.Ended {
			return out, r, nil
		}
	}
}
