package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// summaryFormat is the version of the form below. Fields may be added to it; none changes
// its meaning without a new number. docs/summary.schema.json has the whole of it.
const summaryFormat = 1

// Summary is the end of a launch for programs.
type Summary struct {
	Version  int       `json:"version"`
	Session  string    `json:"session,omitempty"` // missing: nothing was started
	Name     string    `json:"name,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Project  string    `json:"project,omitempty"`
	Exit     int       `json:"exit"`
	Signal   int       `json:"signal,omitempty"`
	Error    string    `json:"error,omitempty"` // of ringfence itself
	Hint     string    `json:"hint,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Duration int64     `json:"duration_ms"`
	Killed   int64     `json:"memory_kills,omitempty"`
	Refused  int       `json:"refused"`
	Refusals []refusal `json:"refusals"`
	Decoys   []string  `json:"decoys,omitempty"`
	Next     string    `json:"next,omitempty"`
	Resume   []string  `json:"resume,omitempty"`
	// Uncommitted are files in the clone of a session that no commit has.
	Uncommitted int            `json:"uncommitted,omitempty"`
	History     *sharedHistory `json:"history,omitempty"`
	*review.Lists
}

// sharedHistory is what became of conversations that are shared with the host's agent.
type sharedHistory struct {
	Copied []string    `json:"copied"`
	Left   []notCopied `json:"left"`
}

type notCopied struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (e End) history() *sharedHistory {
	r := e.Result.Shared
	if len(r.Copied) == 0 && len(r.Left) == 0 {
		return nil
	}
	out := &sharedHistory{Copied: append([]string{}, r.Copied...), Left: []notCopied{}}
	for _, l := range r.Left {
		out.Left = append(out.Left, notCopied{l.Name, l.Why})
	}
	return out
}

// refusal is of a host, of a path that was to be written, or of a call; of neither: more
// that are not listed.
type refusal struct {
	Host   string `json:"host,omitempty"`
	Path   string `json:"path,omitempty"`
	Call   string `json:"call,omitempty"`
	Count  int    `json:"count"`
	Reason string `json:"reason,omitempty"`
}

// maxListed is how many changes a summary lists; `diff --json` has all.
const maxListed = 1000

// summary is the end in the form for programs.
func (e End) summary() Summary {
	res, s := e.Result, e.Session
	out := Summary{Session: s.ID, Name: s.Name, Agent: s.Profile.Title, Project: review.NewName(s.Workspaces[0].Path).Text,
		Started: res.Started.UTC().Round(time.Millisecond), Duration: res.Time.Milliseconds(), Killed: res.OOM, Decoys: res.Decoys, Next: e.Next(), Resume: res.Resume, Uncommitted: e.uncommitted(), History: e.history()}
	if res.Exit.Status.Signaled() {
		out.Signal = int(res.Exit.Status.Signal())
	}
	for _, l := range e.refused() {
		r := refusal{Count: l.Denied, Reason: l.Reason}
		switch {
		case l.Others:
		case !slices.Contains(res.Refused, l):
			r.Host = l.Host
		case strings.HasPrefix(l.Host, "/"):
			r.Path = review.NewName(l.Host).Text
		default:
			r.Call = l.Host
		}
		out.Refused += l.Denied
		out.Refusals = append(out.Refusals, r)
	}
	if res.Review != nil {
		out.Lists = res.Review.Lists(maxListed)
	}
	return out
}

// Sink is where a summary goes. The place is opened before anything runs: the agent may
// have the directory of it, and must not choose where we write.
type Sink struct {
	to  *os.File // as a stream; nil: the name in dir
	dir *os.File
	at  string
}

// OpenSink opens a file, or a descriptor by its number.
func OpenSink(where string) (*Sink, error) {
	if n, err := strconv.Atoi(where); err == nil && n >= 0 {
		return sinkAt(n)
	}
	if strings.HasPrefix(where, "/dev/") || strings.HasPrefix(where, "/proc/") { // what a shell gives for >(…)
		f, err := os.OpenFile(where, os.O_WRONLY|unix.O_NOCTTY, 0)
		return &Sink{to: f}, err
	}
	name := filepath.Base(filepath.Clean(where))
	if where == "" || strings.HasSuffix(where, "/") || name == "." || name == ".." || name == "/" {
		return nil, fmt.Errorf("%s is not the name of a file", plan.Show(where))
	}
	how := &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, filepath.Dir(where), how)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s leads through a link, which an agent may have made: name the real path", plan.Show(where))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plan.Show(filepath.Dir(where)), err)
	}
	s := &Sink{dir: os.NewFile(uintptr(fd), filepath.Dir(where)), at: name}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		s.Close()
		return nil, fmt.Errorf("%s is not a regular file", plan.Show(where))
	}
	if err := unix.Faccessat(fd, ".", unix.W_OK, 0); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s cannot be written to: %w", plan.Show(filepath.Dir(where)), err)
	}
	return s, nil
}

// sinkAt takes a descriptor that whoever started us has left open for it.
func sinkAt(n int) (*Sink, error) {
	var st unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err == nil {
		err = unix.Fstat(n, &st)
	}
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is not open; a file of that name is ./%d", n, n)
	}
	switch st.Mode & unix.S_IFMT { // others are the Go runtime's own
	case unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR:
	default:
		return nil, fmt.Errorf("descriptor %d is neither a file nor a pipe", n)
	}
	if flags&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, fmt.Errorf("descriptor %d is not open for writing", n)
	}
	own, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return &Sink{to: os.NewFile(uintptr(own), fmt.Sprintf("descriptor %d", n))}, nil
}

// Write writes how a launch ended. end is nil where nothing ran.
func (s *Sink) Write(end *End, status int, failed error) error {
	out := Summary{}
	if end != nil {
		out = end.summary()
	}
	out.Version, out.Exit = summaryFormat, status
	if failed != nil {
		out.Error, out.Hint = failed.Error(), fault.HintOf(failed)
	}
	if out.Refusals == nil {
		out.Refusals = []refusal{}
	}
	if out.Lists == nil {
		out.Lists = (&review.Report{Work: &review.Work{}}).Lists(0)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return err
	}
	b = append(command.ASCII(b), '\n')
	if s.to != nil {
		_, err := s.to.Write(b)
		return err
	}
	return file.ReplaceAt(int(s.dir.Fd()), s.at, b, 0o644)
}

// Close lets go of the place.
func (s *Sink) Close() {
	for _, f := range []*os.File{s.to, s.dir} {
		if f != nil {
			f.Close()
		}
	}
}
