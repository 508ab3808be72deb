package world

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"strconv"
)

// serveWeb starts the web servers: port 80, and 443 with a certificate for every
// name. They are the same at every address:
//
//	GET /          "origin HOST ADDRESS", where HOST is what the request says
//	GET /files/…   a file below Web
//	/git/…         git's own server, for repositories below Web
//	/locked/…      the same, for who has the password Token
//	GET /bytes/N   N bytes of Pattern
//	POST /digest   the SHA-256 of the body
func (n *network) serveWeb(ca *authority) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		at := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr).AddrPort()
		fmt.Fprintf(w, "origin %s %s\n", r.Host, at.Addr().Unmap())
	})
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(Web))))
	mux.Handle("/git/", gitServer("/git"))
	mux.Handle("/locked/", locked(gitServer("/locked")))
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		size, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		io.Copy(w, Pattern(size))
	})
	mux.HandleFunc("POST /digest", func(w http.ResponseWriter, r *http.Request) {
		if sum, err := digestOf(r.Body); err == nil {
			fmt.Fprintln(w, sum)
		}
	})
	quiet := log.New(io.Discard, "", 0) // clients that do not trust us are part of the tests
	plain := &http.Server{Handler: mux, ErrorLog: quiet, Protocols: new(http.Protocols)}
	plain.Protocols.SetHTTP1(true)
	plain.Protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", ":80")
	if err != nil {
		return err
	}
	go plain.Serve(&tapListener{l, &n.tap})
	secure := &http.Server{Handler: mux, ErrorLog: quiet, TLSConfig: &tls.Config{GetCertificate: ca.certificate}}
	if l, err = net.Listen("tcp", ":443"); err != nil {
		return err
	}
	go secure.ServeTLS(&tapListener{l, &n.tap}, "", "")
	return nil
}

func gitServer(root string) http.Handler {
	return &cgi.Handler{Path: "/usr/lib/git-core/git-http-backend", Root: root, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + Web, "GIT_HTTP_EXPORT_ALL=1", // whoever plays owns the repositories, not we
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
}

// Token is the password of what is locked.
const Token = "ghp_CANARYworldYkq7Zt1mPvUe0rSxLh4cDbN9a"

func locked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != Token {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
