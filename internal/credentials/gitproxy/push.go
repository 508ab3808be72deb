package gitproxy

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxPush bounds one push. It is on disk while it is judged.
const maxPush = 2 << 30

// judgeTime is how long a push may take to be judged, the server's part included.
const judgeTime = 10 * time.Minute

const pushResult = "application/x-git-receive-pack-result"

// servePush judges a push, and sends it on or answers for the server.
func (f *Forge) servePush(w http.ResponseWriter, r *http.Request, a access) {
	protocol, no := gitProtocol(r)
	if no == nil {
		no = f.contentType(r, "application/x-git-receive-pack-request")
	}
	if no != nil {
		f.fail(w, a, no, no.text)
		return
	}
	select {
	case f.pushes <- struct{}{}:
		defer func() { <-f.pushes }()
	case <-r.Context().Done():
		return
	}
	file, p, no := f.receive(r)
	if no != nil {
		f.fail(w, a, no, no.text)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", pushResult)
	if len(p.commands) == 0 { // git asks so whether it may come, before it sends much
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), judgeTime)
	reasons := f.judge(ctx, a, p, file)
	cancel()
	denied := slices.ContainsFunc(reasons, func(s string) bool { return s != "" })
	f.recordPush(a, p, reasons, denied)
	if denied {
		_, _ = w.Write(p.report(reasons, f.host())) // whoever has gone is not told
		return
	}
	f.replay(w, r, a, file, protocol)
}

// receive spools a push and reads its head.
func (f *Forge) receive(r *http.Request) (*spool, *push, *denial) {
	body := io.Reader(r.Body)
	switch r.Header.Get("Content-Encoding") {
	case "":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, nil, deny(http.StatusBadRequest, "the request says gzip and is not")
		}
		body = z
	default:
		return nil, nil, deny(http.StatusUnsupportedMediaType, "the request is encoded in a way that git does not use")
	}
	file, err := newSpool(f.Spool, body, f.maxPush)
	if errors.Is(err, errTooLarge) {
		return nil, nil, deny(http.StatusRequestEntityTooLarge, "a push of more than %d bytes is denied; push in parts", f.maxPush)
	}
	if err != nil {
		return nil, nil, deny(http.StatusInternalServerError, "the push cannot be held to be judged")
	}
	p, err := readPush(bufio.NewReader(io.NewSectionReader(file, 0, file.size)))
	if err != nil {
		file.Close()
		return nil, nil, deny(http.StatusBadRequest, "%v", err)
	}
	return file, p, nil
}

func (f *Forge) recordPush(a access, p *push, reasons []string, denied bool) {
	e := Event{Repo: a.repo, Service: pushService, Denied: denied}
	for i, c := range p.commands {
		e.Refs = append(e.Refs, Ref{Name: c.ref, Old: c.old.String(), New: c.new.String(), Reason: reasons[i]})
		if e.Reason == "" {
			e.Reason = reasons[i]
		}
	}
	f.record(e)
}

// replay sends the push on, the very bytes that were judged.
func (f *Forge) replay(w http.ResponseWriter, r *http.Request, a access, file *spool, protocol string) {
	resp, err := f.send(r.Context(), a, message{method: http.MethodPost, path: a.path, protocol: protocol,
		kind: "application/x-git-receive-pack-request", accept: pushResult,
		body: io.NewSectionReader(file, 0, file.size), length: file.size})
	if err != nil {
		f.fail(w, a, f.unreachable(), err.Error())
		return
	}
	defer resp.Body.Close()
	if no := f.expect(a, resp, pushResult); no != nil {
		f.fail(w, a, no, no.text)
		return
	}
	f.pass(w, resp, pushResult)
}

// judge returns for each command why it is denied, "" if it is not.
func (f *Forge) judge(ctx context.Context, a access, p *push, file *spool) []string {
	reasons := make([]string, len(p.commands))
	all := func(why string) []string {
		for i := range reasons {
			reasons[i] = why
		}
		return reasons
	}
	r, err := f.remote(ctx, a)
	if err != nil {
		return all(err.Error())
	}
	s, err := r.state(ctx, p.refs())
	if err != nil {
		return all(err.Error())
	}
	if why := f.judgeOptions(p.options); why != "" {
		return all(why)
	}
	denied := false
	for i, c := range p.commands {
		reasons[i] = f.judgeName(c, s)
		denied = denied || reasons[i] != ""
	}
	if denied {
		return reasons
	}
	if !p.needsPack() {
		if file.size != p.size {
			return all("bytes behind a push that only deletes")
		}
		return reasons
	}
	free := f.allow[Force] && f.allow[Workflows] // then no history has to be shown
	proof := newProof(ctx, r, s)
	proof.decoy = f.Decoy
	if err := proof.read(io.NewSectionReader(file, p.size, file.size-p.size), file.size-p.size); err != nil && (!free || errors.Is(err, errPhantom) || errors.Is(err, errDecoy)) {
		return all(err.Error())
	}
	if free {
		return reasons
	}
	for i, c := range p.commands {
		reasons[i] = f.judgeHistory(proof, c)
	}
	return reasons
}

func (p *push) refs() []string {
	var out []string
	for _, c := range p.commands {
		out = append(out, c.ref)
	}
	return out
}

// judgeHistory holds the commits behind a command to the rules.
func (f *Forge) judgeHistory(p *proof, c command) string {
	if c.new.IsZero() {
		return ""
	}
	tip, err := p.tip(c)
	if err != nil {
		return err.Error()
	}
	if branch := strings.HasPrefix(c.ref, headsPrefix); branch && !c.old.IsZero() && !f.allow[Force] {
		forward, err := p.forward(c.old, tip)
		if err != nil {
			return "that the branch moves forward cannot be shown: " + err.Error()
		}
		if !forward {
			return "pushes that do not move a branch forward are denied; " + allows(Force)
		}
	}
	if f.allow[Workflows] {
		return ""
	}
	path, err := p.changed(c, tip)
	if err != nil {
		return "that what the forge runs is unchanged cannot be shown: " + err.Error() + "; " + allows(Workflows)
	}
	if path != "" {
		return "changes of " + path + " are denied; " + allows(Workflows)
	}
	return ""
}
