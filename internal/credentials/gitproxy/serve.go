package gitproxy

import (
	"io"
	"net/http"
)

// maxAsk bounds what a client may say to fetch: wants and haves.
const maxAsk = 64 << 20

// serveRefs answers the first question of every fetch and push.
func (f *Forge) serveRefs(w http.ResponseWriter, r *http.Request, a access) {
	protocol, no := gitProtocol(r)
	if no != nil {
		f.fail(w, a, no, no.text)
		return
	}
	resp, err := f.refs(r.Context(), a, a.service, protocol)
	if err != nil {
		f.fail(w, a, f.unreachable(), err.Error())
		return
	}
	defer resp.Body.Close()
	kind := "application/x-" + a.service + "-advertisement"
	if no := f.expect(a, resp, kind); no != nil {
		f.fail(w, a, no, no.text)
		return
	}
	if a.service == fetchService {
		f.pass(w, resp, kind)
		return
	}
	start, err := advertisement(resp.Body)
	if err != nil {
		f.fail(w, a, deny(http.StatusForbidden, "%v", err), err.Error())
		return
	}
	resp.ContentLength = -1
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(start, resp.Body), resp.Body}
	f.pass(w, resp, kind)
}

// serveFetch passes a fetch through, both ways, as it comes.
func (f *Forge) serveFetch(w http.ResponseWriter, r *http.Request, a access) {
	protocol, no := gitProtocol(r)
	if no == nil {
		no = f.contentType(r, "application/x-git-upload-pack-request")
	}
	encoding := r.Header.Get("Content-Encoding")
	if no == nil && encoding != "" && encoding != "gzip" {
		no = deny(http.StatusUnsupportedMediaType, "the request is encoded in a way that git does not use")
	}
	if no != nil {
		f.fail(w, a, no, no.text)
		return
	}
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
	kind := "application/x-git-upload-pack-result"
	resp, err := f.send(r.Context(), a, message{method: http.MethodPost, path: a.path, kind: r.Header.Get("Content-Type"), accept: kind,
		protocol: protocol, encoding: encoding, body: http.MaxBytesReader(w, r.Body, maxAsk), length: r.ContentLength})
	if err != nil {
		f.fail(w, a, f.unreachable(), err.Error())
		return
	}
	defer resp.Body.Close()
	if no := f.expect(a, resp, kind); no != nil {
		f.fail(w, a, no, no.text)
		return
	}
	f.record(Event{Repo: a.repo, Service: a.service, Anonymous: a.anonymous})
	f.pass(w, resp, kind)
}

func (f *Forge) unreachable() *denial {
	return deny(http.StatusBadGateway, "%s cannot be reached", f.host())
}

// gitProtocol takes the versions that there are.
func gitProtocol(r *http.Request) (string, *denial) {
	switch p := r.Header.Values("Git-Protocol"); {
	case len(p) == 0:
		return "", nil
	case len(p) == 1 && (p[0] == "version=1" || p[0] == "version=2"):
		return p[0], nil
	}
	return "", deny(http.StatusBadRequest, "the header Git-Protocol names no version of the protocol")
}

func (f *Forge) contentType(r *http.Request, want string) *denial {
	if got := r.Header.Values("Content-Type"); len(got) != 1 || got[0] != want {
		return deny(http.StatusUnsupportedMediaType, "the request is not of type %s", want)
	}
	return nil
}

// passed are the headers of an answer that the client gets to see.
var passed = []string{"Cache-Control", "Expires", "Pragma"}

// pass hands an answer on while it comes.
func (f *Forge) pass(w http.ResponseWriter, resp *http.Response, kind string) {
	h := w.Header()
	for _, key := range passed {
		if v := resp.Header.Get(key); v != "" {
			h.Set(key, v)
		}
	}
	h.Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	if err := stream(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // a cut answer must not look like a whole one
	}
}

// stream copies and lets nothing wait, progress least of all.
func stream(w http.ResponseWriter, r io.Reader) error {
	out, buf := http.NewResponseController(w), make([]byte, 4*maxPacket)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
