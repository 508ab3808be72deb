package git

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
)

// lfsServer is a forge's LFS: the batch at the forge, the objects elsewhere or,
// if near is set, at the forge too.
type lfsServer struct {
	w      *world
	server *httptest.Server

	mu      sync.Mutex
	objects map[string][]byte
	near    bool
	expires int
	batches []string // bodies
	locked  int
}

func newLFS(w *world) *lfsServer {
	s := &lfsServer{w: w, objects: map[string][]byte{}}
	s.server = httptest.NewTLSServer(http.HandlerFunc(s.storage))
	w.t.Cleanup(s.server.Close)
	return s
}

// forge answers what is asked of the forge itself.
func (s *lfsServer) forge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/objects/batch"):
		s.batch(w, r)
	case strings.HasSuffix(r.URL.Path, "/locks/verify"):
		io.WriteString(w, `{"ours":[],"theirs":[]}`)
	case strings.HasSuffix(r.URL.Path, "/locks") && r.Method == http.MethodGet:
		io.WriteString(w, `{"locks":[]}`)
	case strings.Contains(r.URL.Path, "/lfs-objects/"):
		s.object(w, r)
	default:
		s.mu.Lock()
		s.locked++
		s.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"lock":{"id":"1","path":"a","locked_at":"2026-01-01T00:00:00Z"}}`)
	}
}

func (s *lfsServer) batch(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct {
		Operation string
		Objects   []struct {
			OID  string
			Size int64
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, string(body))
	base, header := "https://"+store+"/objects/", map[string]string{"Authorization": signed}
	if s.near {
		base, header = "https://"+host+strings.TrimSuffix(r.URL.Path, "/info/lfs/objects/batch")+"/lfs-objects/", nil
	}
	act := func(tail string) map[string]any {
		return map[string]any{"href": base + tail, "header": header, "expires_in": s.expires}
	}
	var objects []map[string]any
	for _, o := range in.Objects {
		out := map[string]any{"oid": o.OID, "size": o.Size}
		_, has := s.objects[o.OID]
		switch {
		case in.Operation == "upload" && !has:
			out["actions"] = map[string]any{"upload": act(o.OID), "verify": act("verify")}
		case in.Operation == "download" && has:
			out["actions"] = map[string]any{"download": act(o.OID)}
		case in.Operation == "download":
			out["error"] = map[string]any{"code": 404, "message": "no such object"}
		}
		objects = append(objects, out)
	}
	json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": objects})
}

// storage keeps objects for whoever has the forge's signature.
func (s *lfsServer) storage(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != signed {
		http.Error(w, "not signed", http.StatusForbidden)
		return
	}
	s.object(w, r)
}

func (s *lfsServer) object(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oid := path.Base(r.URL.Path)
	switch r.Method {
	case http.MethodPut:
		b, _ := io.ReadAll(r.Body)
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != oid {
			http.Error(w, "another object", http.StatusBadRequest)
			return
		}
		s.objects[oid] = b
	case http.MethodGet:
		if _, ok := s.objects[oid]; !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(s.objects[oid])
	case http.MethodPost:
		w.WriteHeader(http.StatusOK)
	}
}
