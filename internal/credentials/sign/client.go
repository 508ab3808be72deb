package sign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The client is what git runs inside the sandbox in place of gpg, gpgsm
// and ssh-keygen. To sign, it sends what git gives it to the endpoint on the host
// and hands back the signature. All else (to verify, to list) needs no secret and
// goes to the real program, if there is one inside.
//
// It guards nothing: whoever can run it can send bytes to the endpoint without
// it. It is there so that git works, and so that a refusal reads well.

// The names under which git calls the client.
const (
	GPG       = "ringfence-gpg"
	GPGSM     = "ringfence-gpgsm"
	SSHKeygen = "ringfence-ssh-keygen"
)

const (
	maxAnswer = 64 << 10
	// The host gives its program two minutes, and there may be others before us.
	patience = 5 * time.Minute
)

// Is reports whether argv0 is one of the client's names.
func Is(argv0 string) bool {
	switch filepath.Base(argv0) {
	case GPG, GPGSM, SSHKeygen:
		return true
	}
	return false
}

// Main does what args ask for and returns the exit status. args[0] is one of the
// client's names; endpoint is where the formats are, "http://127.0.0.1:809/sign/".
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, endpoint string) int {
	c := client{stdin: stdin, stdout: stdout, stderr: stderr, endpoint: strings.TrimSuffix(endpoint, "/")}
	var err error
	switch name := filepath.Base(args[0]); name {
	case GPG, GPGSM:
		err = c.gnupg(name, args[1:])
	case SSHKeygen:
		err = c.sshKeygen(args[1:])
	default:
		err = fmt.Errorf("%s is not a name of this program", name)
	}
	if err != nil {
		c.complain(filepath.Base(args[0]), err)
		return 1
	}
	return 0
}

type client struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	endpoint       string
}

// refused is the word of the host.
type refused string

func (r refused) Error() string { return "not signed: " + string(r) }

// post has payload signed. created is what gpg on the host says of the signature.
func (c *client) post(format string, payload []byte) (signature []byte, created string, err error) {
	if len(payload) > maxPayload {
		return nil, "", refused(fmt.Sprintf("it is longer than %d bytes", maxPayload))
	}
	// Straight to the endpoint: a proxy of the environment knows nothing of it.
	h := http.Client{Transport: &http.Transport{Proxy: nil, DisableCompression: true}, Timeout: patience}
	r, err := h.Post(c.endpoint+"/"+format, "application/octet-stream", bytes.NewReader(payload))
	if err != nil {
		return nil, "", refused("the endpoint on the host cannot be reached: " + err.Error())
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, "", refused("the answer of the host broke off: " + err.Error())
	case r.StatusCode != http.StatusOK:
		return nil, "", refused(strings.TrimSpace(string(b)))
	}
	return b, r.Header.Get("Sig-Created"), nil
}

// pass becomes the real program.
func (c *client) pass(program string, args []string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("%s is not installed inside, and only signing is done by the host", program)
	}
	return fmt.Errorf("run %s: %w", program, syscall.Exec(path, append([]string{program}, args...), os.Environ()))
}

// complain tells why, in one line. Before 2.41 git keeps what gpg says on its
// standard error for itself, so if that is a pipe the line goes where git's own
// errors go.
func (c *client) complain(name string, err error) {
	line := "ringfence: " + err.Error() + "\n"
	var r refused
	if f, ok := c.stderr.(*os.File); ok && name != SSHKeygen && errors.As(err, &r) {
		if fi, err := f.Stat(); err == nil && fi.Mode()&os.ModeNamedPipe != 0 && tellParent(line) == nil {
			return
		}
	}
	_, _ = io.WriteString(c.stderr, line) // the exit status says it too
}

func tellParent(line string) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", os.Getppid()), os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}
