package gitproxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// agent is what the forge is told. What the client calls itself stays here.
const agent = "git/2 (ringfence)"

// message is a request of ours to the forge. No header of the client goes with
// it but what is named here.
type message struct {
	method, path, query string
	kind, accept        string // Content-Type and Accept
	protocol            string // Git-Protocol
	encoding            string // Content-Encoding
	body                io.Reader
	length              int64 // of the body; -1: not known
}

// send puts a message to the forge, at the repository's place there.
func (f *Forge) send(ctx context.Context, a access, m message) (*http.Response, error) {
	return f.sendTo(ctx, a, f.place(a), m)
}

func (f *Forge) sendTo(ctx context.Context, a access, place string, m message) (*http.Response, error) {
	u := *f.upstream
	u.Path, u.RawQuery = "/"+place+m.path, m.query
	req, err := http.NewRequestWithContext(ctx, m.method, u.String(), m.body)
	if err != nil {
		return nil, fmt.Errorf("make request to %s: %w", u.Host, err)
	}
	if m.body != nil {
		req.ContentLength = m.length
		if m.length == 0 {
			req.Body = http.NoBody
		}
	}
	if s, ok := m.body.(*io.SectionReader); ok { // so that a connection which was closed before it was used is no error
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(s, 0, s.Size())), nil }
	}
	for key, value := range map[string]string{"Content-Type": m.kind, "Accept": m.accept, "Git-Protocol": m.protocol,
		"Content-Encoding": m.encoding, "User-Agent": agent, "Accept-Encoding": "identity"} {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	resp, err := a.transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", u.Host, err)
	}
	return resp, nil
}

// maxMoved bounds what is remembered of repositories that have moved.
const maxMoved = 256

// place is the repository's path on the forge.
func (f *Forge) place(a access) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := a.repo + a.suffix
	if to, ok := f.moved[asked]; ok {
		return to
	}
	return asked
}

// move notes where a repository is found. It mostly is where it says.
func (f *Forge) move(a access, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := a.repo + a.suffix
	if to == asked {
		delete(f.moved, asked)
		return
	}
	if len(f.moved) >= maxMoved {
		clear(f.moved)
	}
	f.moved[asked] = to
}

// refs asks for the list of refs. This is the one question whose answer may send
// us elsewhere, for a repository that was renamed, and only on the same host.
func (f *Forge) refs(ctx context.Context, a access, service, protocol string) (*http.Response, error) {
	m := message{method: http.MethodGet, path: "/info/refs", query: "service=" + service, protocol: protocol}
	place := a.repo + a.suffix
	for range 4 {
		resp, err := f.sendTo(ctx, a, place, m)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 3 {
			f.move(a, place)
			return resp, nil
		}
		resp.Body.Close()
		if place, err = f.follow(resp, m); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("ask %s: it sends us round in circles", f.host())
}

// follow returns the path of the repository that a redirect leads to.
func (f *Forge) follow(resp *http.Response, m message) (string, error) {
	to, err := resp.Location()
	if err != nil {
		return "", fmt.Errorf("%s sends us elsewhere and does not say where", f.host())
	}
	repo, ok := strings.CutSuffix(to.EscapedPath(), m.path)
	if to.Scheme != f.upstream.Scheme || to.Host != f.upstream.Host || to.User != nil || !ok || to.RawQuery != m.query {
		return "", fmt.Errorf("%s sends us away, to %s", f.host(), clean(to.Host))
	}
	repo = strings.TrimPrefix(repo, "/")
	if bare, _ := splitRepo(repo); !goodRepo(bare) {
		return "", fmt.Errorf("%s sends us to no repository", f.host())
	}
	return repo, nil
}

// expect turns an answer that is not the one hoped for into a denial. The text
// that a forge gives with it is kept where it is plain.
func (f *Forge) expect(a access, resp *http.Response, kind string) *denial {
	got, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if resp.StatusCode == http.StatusOK {
		if strings.TrimSpace(got) == kind {
			return nil
		}
		return deny(http.StatusBadGateway, "%s does not answer in git's smart protocol", f.host())
	}
	said := ""
	if got == "text/plain" {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		said = "\n" + clean(string(b))
	}
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized && a.anonymous, s == http.StatusNotFound && a.anonymous:
		return deny(http.StatusForbidden, "%s shows %s to nobody without a credential, and none is used for other repositories than %s; %s%s",
			f.host(), a.repo, strings.Join(f.Repos, ", "), allows(OtherRepos), said)
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return deny(http.StatusForbidden, "%s refuses the credential for %s (status %d)%s", f.host(), a.repo, s, said)
	case s == http.StatusNotFound, s == http.StatusTooManyRequests, s >= 500:
		return deny(s, "%s answers with status %d for %s%s", f.host(), s, a.repo, said)
	default:
		return deny(http.StatusBadGateway, "%s answers with status %d for %s%s", f.host(), s, a.repo, said)
	}
}
