package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"

	"ringfence.dev/ringfence/test/wait"
)

// get fetches a URL as any program in Go does.
func get(args []string) error {
	pem, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	c := http.Client{Timeout: wait.Patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	r, err := c.Get(args[0])
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", r.Status)
	}
	_, err = io.Copy(os.Stdout, r.Body)
	return err
}
