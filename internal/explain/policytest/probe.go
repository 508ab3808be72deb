package policytest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/explain/why"
)

// Arg makes `ringfence policy test` the probe inside a throw-away sandbox.
const Arg = "__expect"

// Ask is one thing to try inside.
type Ask struct {
	Access  string `json:"access"`
	Subject string `json:"subject"`
}

// Met is what became of it. Of a file it tells which one it is and a digest of what is in
// it, of a variable only a digest.
type Met struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
	Dev    uint64 `json:"dev,omitempty"`
	Ino    uint64 `json:"ino,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// maxTalk bounds what goes to a probe and what comes back.
const maxTalk = 16 << 20

// Main tries what it is asked to and changes nothing: files are opened and never
// written, connections end before a byte is sent.
func Main(in io.Reader, out io.Writer) error {
	var asks []Ask
	if err := json.NewDecoder(io.LimitReader(in, maxTalk)).Decode(&asks); err != nil {
		return fmt.Errorf("read what is to be tried: %w", err)
	}
	met := make([]Met, len(asks))
	for i, a := range asks {
		met[i] = try(a)
	}
	return json.NewEncoder(out).Encode(met)
}

func try(a Ask) Met {
	switch a.Access {
	case why.Pass:
		v, ok := os.LookupEnv(a.Subject)
		return Met{OK: ok, Digest: Digest(v)}
	case why.Resolve:
		return tryResolve(a.Subject)
	case why.Connect:
		return tryConnect(a.Subject)
	case why.Write:
		return tryOpen(a.Subject, unix.O_WRONLY)
	case why.Execute:
		if err := unix.Faccessat(unix.AT_FDCWD, a.Subject, unix.X_OK, 0); err != nil {
			return Met{Error: err.Error()}
		}
	}
	return tryOpen(a.Subject, unix.O_RDONLY)
}

// Digest stands for a value.
func Digest(v string) string {
	sum := sha256.Sum256([]byte(v))
	return hex.EncodeToString(sum[:8])
}

func tryOpen(path string, how int) Met {
	fd, err := unix.Open(path, how|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Met{Error: err.Error()}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Met{Error: err.Error()}
	}
	return Met{OK: true, Dev: st.Dev, Ino: st.Ino, Digest: content(fd, how, &st)}
}

// maxContent and maxNames bound what is looked at of a file and of a directory.
const (
	maxContent = 64 << 10
	maxNames   = 4096
)

// content stands for what is in a file or a directory; "": it was not read.
func content(fd, how int, st *unix.Stat_t) string {
	if how != unix.O_RDONLY {
		return ""
	}
	up, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(up), "")
	defer f.Close()
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		b, err := io.ReadAll(io.LimitReader(f, maxContent))
		if err == nil {
			return Digest(fmt.Sprintf("%d %s", st.Size, b))
		}
	case unix.S_IFDIR:
		names, err := f.Readdirnames(maxNames)
		if err == nil || errors.Is(err, io.EOF) {
			slices.Sort(names)
			return Digest(strings.Join(names, "\x00"))
		}
	}
	return ""
}

// patience bounds one try of the network.
const patience = 5 * time.Second

func tryResolve(name string) Met {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := net.Resolver{PreferGo: true}
	if _, err := r.LookupNetIP(ctx, "ip", name+"."); err != nil {
		return Met{Error: err.Error()}
	}
	return Met{OK: true}
}

// tryConnect makes a connection and ends its own side at once. Whether it was let
// through the gate has on record.
func tryConnect(target string) Met {
	d := net.Dialer{Timeout: patience, Resolver: &net.Resolver{PreferGo: true}}
	c, err := d.Dial("tcp", target)
	if err != nil {
		return Met{Error: err.Error()}
	}
	defer c.Close()
	c.(*net.TCPConn).CloseWrite()
	c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, unix.ECONNRESET) {
		return Met{OK: true, Error: err.Error()}
	}
	return Met{OK: true}
}

// DecodeMet reads what a probe says: it comes out of a sandbox.
func DecodeMet(data []byte, want int) ([]Met, error) {
	if len(data) > maxTalk {
		return nil, errors.New("the probe said too much")
	}
	var met []Met
	if err := json.Unmarshal(data, &met); err != nil {
		return nil, fmt.Errorf("the probe cannot be understood: %w", err)
	}
	if len(met) != want {
		return nil, fmt.Errorf("the probe answered %d times, not %d", len(met), want)
	}
	return met, nil
}

// EncodeAsks writes what goes to a probe.
func EncodeAsks(asks []Ask) ([]byte, error) {
	if asks == nil {
		asks = []Ask{}
	}
	return json.Marshal(asks)
}
