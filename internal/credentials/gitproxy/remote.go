package gitproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/git/object"
)

// remote is the server as we ask it, in protocol version 2, about one repository.
type remote struct {
	f *Forge
	a access
	server
}

// server is what a server can do.
type server struct {
	features []string // of its fetch
	unborn   bool     // it says where HEAD leads in an empty repository
	format   bool     // it wants to be told how objects are named
	until    time.Time
}

const (
	serverTTL  = 5 * time.Minute
	maxServers = 256
	maxRefs    = 200_000
)

// remote asks a server what it can do, unless that is known.
func (f *Forge) remote(ctx context.Context, a access) (*remote, error) {
	key := a.repo + a.suffix
	f.mu.Lock()
	s, ok := f.servers[key]
	f.mu.Unlock()
	if ok && f.now().Before(s.until) {
		return &remote{f, a, s}, nil
	}
	resp, err := f.refs(ctx, a, fetchService, "version=2")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if no := f.expect(a, resp, "application/x-git-upload-pack-advertisement"); no != nil {
		return nil, errors.New(no.text)
	}
	if s, err = readServer(resp.Body); err != nil {
		return nil, err
	}
	s.until = f.now().Add(serverTTL)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.servers) >= maxServers {
		clear(f.servers)
	}
	f.servers[key] = s
	return &remote{f, a, s}, nil
}

// readServer reads the list of capabilities of version 2.
func readServer(r io.Reader) (server, error) {
	var s server
	pr := newPacketReader(r)
	kind, p, err := pr.Next()
	if err == nil && kind == packetData && strings.HasPrefix(string(p), "# service=") { // some servers say it, some do not
		if kind, _, err = pr.Next(); err == nil && kind == packetFlush {
			kind, p, err = pr.Next()
		}
	}
	if err != nil || kind != packetData || string(packetText(p)) != "version 2" {
		return s, errors.New("the server does not speak version 2 of git's protocol")
	}
	for range 1000 {
		kind, p, err := pr.Next()
		if err != nil {
			return s, fmt.Errorf("read capabilities: %w", err)
		}
		if kind == packetFlush {
			return s, nil
		}
		key, value, _ := strings.Cut(string(packetText(p)), "=")
		switch key {
		case "fetch":
			s.features = strings.Fields(value)
		case "ls-refs":
			s.unborn = slices.Contains(strings.Fields(value), "unborn")
		case "object-format":
			if s.format = true; value != "sha1" {
				return s, errSHA256
			}
		}
	}
	return s, errors.New("the server lists too many capabilities")
}

// command puts a command of version 2 to the server. Arguments are lines without
// a newline.
func (r *remote) command(ctx context.Context, name string, args []string) (*http.Response, error) {
	b := AppendPacket(nil, "command="+name+"\n")
	if r.format {
		b = AppendPacket(b, "object-format=sha1\n")
	}
	b = appendMark(b, packetDelim)
	for _, arg := range args {
		b = AppendPacket(b, arg+"\n")
	}
	b = appendMark(b, packetFlush)
	resp, err := r.f.send(ctx, r.a, message{method: http.MethodPost, path: "/" + fetchService, protocol: "version=2",
		kind: "application/x-git-upload-pack-request", accept: "application/x-git-upload-pack-result",
		body: bytes.NewReader(b), length: int64(len(b))})
	if err != nil {
		return nil, err
	}
	if no := r.f.expect(r.a, resp, "application/x-git-upload-pack-result"); no != nil {
		resp.Body.Close()
		return nil, errors.New(no.text)
	}
	return resp, nil
}

// state is where the refs of a repository are.
type state struct {
	refs  map[string]object.ID // all branches, and what else was asked for
	links map[string]string    // refs that are another name for a second one, HEAD among them
	at    object.ID            // where HEAD is
	head  string               // the ref that HEAD leads to; "": not known
}

// state asks for the branches, for HEAD and for the given refs, and where those lead
// that are only names of others. (The list before a push, of an older protocol, tells
// that of HEAD alone.)
func (r *remote) state(ctx context.Context, refs []string) (state, error) {
	args := []string{"symrefs"}
	if r.unborn {
		args = append(args, "unborn")
	}
	args = append(args, "ref-prefix HEAD", "ref-prefix refs/heads/")
	for _, ref := range refs {
		if !strings.HasPrefix(ref, "refs/heads/") {
			args = append(args, "ref-prefix "+ref)
		}
	}
	s := state{refs: map[string]object.ID{}, links: map[string]string{}}
	resp, err := r.command(ctx, "ls-refs", args)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	for pr := newPacketReader(resp.Body); len(s.refs) < maxRefs; {
		line, err := answerLine(pr)
		if err != nil {
			return s, fmt.Errorf("read refs: %w", err)
		}
		if line == "" {
			return s, s.settle()
		}
		if err := s.add(line); err != nil {
			return s, err
		}
	}
	return s, fmt.Errorf("the repository has more than %d refs", maxRefs)
}

func (s *state) add(line string) error {
	words := strings.Split(line, " ")
	if len(words) < 2 {
		return errors.New("the server lists a ref in a way we do not understand")
	}
	name := words[1]
	for _, w := range words[2:] {
		to, ok := strings.CutPrefix(w, "symref-target:")
		if !ok {
			continue
		}
		if was, twice := s.links[name]; !goodRef(to) || twice && was != to {
			return fmt.Errorf("the server says that %.100q leads to %.100q, which is no ref", name, to)
		}
		s.links[name] = to
	}
	if name == "HEAD" && words[0] == "unborn" {
		return nil
	}
	id, err := object.ParseSHA1(words[0])
	if err != nil {
		return fmt.Errorf("read refs: %w", err)
	}
	if name == "HEAD" {
		s.at = id
		return nil
	}
	s.refs[name] = id
	return nil
}

// settle finds where HEAD leads, once all is listed, and forgets the branches that lead
// to what is none: a pull request of a stranger has not been accepted for such a name.
func (s *state) settle() (err error) {
	for name := range s.links {
		if to, err := s.leads(name); err != nil || !strings.HasPrefix(to, headsPrefix) {
			delete(s.refs, name)
		}
	}
	s.head, err = s.leads("HEAD")
	return err
}

// maxLinks is how far a ref may lead, as git has it.
const maxLinks = 5

// leads returns the ref that a name stands for in the end; "" for a HEAD of which the
// server does not tell. Case does not count: a server may keep refs where it does not.
func (s *state) leads(name string) (string, error) {
	for range maxLinks + 1 {
		to, ok := s.links[name]
		for from, other := range s.links {
			if !ok && strings.EqualFold(from, name) {
				to, ok = other, true
			}
		}
		switch {
		case !ok && name == "HEAD":
			return "", nil
		case !ok:
			return name, nil
		}
		name = to
	}
	return "", errors.New("a ref of the server leads round in circles")
}

// answerLine returns a line of an answer, "" at its end or at that of a section.
func answerLine(pr *packetReader) (string, error) {
	kind, p, err := pr.Next()
	if err != nil {
		return "", err
	}
	if kind != packetData {
		return "", nil
	}
	line := string(packetText(p))
	if text, ok := strings.CutPrefix(line, "ERR "); ok {
		return "", fmt.Errorf("the server says: %s", clean(text))
	}
	return line, nil
}
