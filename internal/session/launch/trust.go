package launch

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

// Trust is whose certificates are believed: by clients inside, and by the broker on its
// way to an upstream. It is what the host believes, but for files that an agent could have
// written: who may add an authority can be any host.
type Trust struct {
	Bundle []byte         // the system's, or what SSL_CERT_FILE names in its place
	More   []byte         // what other variables name besides
	Pool   *x509.CertPool // of both; nil: the system's own, which nobody named another for
}

// Forget drops what only a launch needs.
func (t *Trust) Forget() { t.Bundle, t.More = nil, nil }

// ownRoom is for the session's own authority, which follows what All returns.
const ownRoom = 4 << 10

// All is both, each certificate once.
func (t Trust) All() []byte {
	out := make([]byte, 0, len(t.Bundle)+len(t.More)+ownRoom)
	out = append(append(out, bytes.TrimRight(t.Bundle, "\n")...), '\n')
	for block, rest := pem.Decode(t.More); block != nil; block, rest = pem.Decode(rest) {
		if text := pem.EncodeToMemory(block); !bytes.Contains(out, text) {
			out = append(out, text...)
		}
	}
	return out
}

// systemBundles are where systems keep the authorities that they trust, and systemDirs
// the same one by one.
var (
	systemBundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}
	systemDirs    = []string{"/etc/ssl/certs", "/etc/pki/tls/certs"}
)

// besides are the variables by which clients are told of authorities besides the system's.
var besides = []string{"NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE",
	"npm_config_cafile", "NPM_CONFIG_CAFILE", "YARN_HTTPS_CA_FILE_PATH", "BUNDLE_SSL_CA_CERT"}

const (
	maxBundle = 4 << 20
	maxStore  = 1024 // files of a directory of certificates
)

// trust reads whom the host believes.
func (b *Base) trust() error {
	b.Trust = &Trust{}
	if b.Reach.Mode == ModeNone {
		return nil
	}
	named := b.authorities("SSL_CERT_FILE", b.Getenv("SSL_CERT_FILE"))
	var err error
	if b.Trust.Bundle = named; named == nil {
		if b.Trust.Bundle, err = systemBundle(); err != nil {
			return err
		}
	}
	seen := map[string]bool{"": true}
	for _, name := range besides {
		if path := b.Getenv(name); !seen[path] && !slices.Contains(systemBundles, path) {
			seen[path] = true
			b.Trust.More = append(b.Trust.More, b.authorities(name, path)...)
		}
	}
	for _, f := range b.settingsAuthorities() {
		if !seen[f.path] && !slices.Contains(systemBundles, f.path) {
			seen[f.path] = true
			b.Trust.More = append(b.Trust.More, b.authorities(f.what, f.path)...)
		}
		b.Trust.More = append(b.Trust.More, f.inline...)
	}
	for _, dir := range filepath.SplitList(b.Getenv("SSL_CERT_DIR")) {
		if dir != "" && !slices.Contains(systemDirs, filepath.Clean(dir)) {
			b.Trust.More = append(b.Trust.More, b.store(dir)...)
		}
	}
	// Go's own pool would heed these two variables, whoever could write what they name.
	if len(b.Trust.More) > 0 || b.Getenv("SSL_CERT_FILE") != "" || b.Getenv("SSL_CERT_DIR") != "" {
		b.Trust.Pool = x509.NewCertPool()
		b.Trust.Pool.AppendCertsFromPEM(b.Trust.Bundle)
		b.Trust.Pool.AppendCertsFromPEM(b.Trust.More)
	}
	return nil
}

func systemBundle() ([]byte, error) {
	for _, p := range systemBundles {
		if data, err := ReadIfPresent(p, maxBundle); err != nil || data != nil {
			return data, err
		}
	}
	return nil, nil // a host without any trusts nobody; neither does the sandbox
}

// authorities reads the certificates of a file that a variable or a setting names. A file that is not
// used is said: clients of the host do use it.
func (b *Base) authorities(variable, path string) []byte {
	if path == "" {
		return nil
	}
	data, err := b.readTrusted(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		b.Said.Notice(fmt.Sprintf("%s: there is no file %q", variable, path))
	case err != nil:
		b.Said.Warn(fmt.Sprintf("%s: the certificates are not used: %v", variable, err))
	case len(data) == 0 && variable != "SSL_CERT_FILE": // which then says to believe nobody
		b.Said.Notice(fmt.Sprintf("%s: there is no certificate in %q", variable, path))
	}
	return data
}

// store reads a directory of certificates.
func (b *Base) store(dir string) (out []byte) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Said.Notice(fmt.Sprintf("SSL_CERT_DIR: the certificates cannot be read: %v", err))
		return nil
	}
	if len(entries) > maxStore {
		b.Said.Warn(fmt.Sprintf("SSL_CERT_DIR: %q has more than %d files: not used", dir, maxStore))
		return nil
	}
	for _, e := range entries {
		data, err := b.readTrusted(filepath.Join(dir, e.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, file.ErrNotRegular) {
			b.Said.Warn(fmt.Sprintf("SSL_CERT_DIR: certificates are not used: %v", err))
			return nil
		}
		if len(out)+len(data) <= maxBundle {
			out = append(out, data...)
		}
	}
	return out
}

// readTrusted reads certificates, and nothing else that a file may hold, from where no
// agent and no other user can have put them.
func (b *Base) readTrusted(path string) (out []byte, err error) {
	real, err := sys.OwnedBy(path, b.refuseWritten)
	if err != nil {
		return nil, err
	}
	data, err := file.Read(real, maxBundle, 0)
	if err != nil {
		return nil, err
	}
	return certificates(data), nil
}

// certificates are those of a text, without all else.
func certificates(data []byte) []byte {
	out := []byte{} // a file without any is there all the same
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		}
	}
	return out
}

// refuseWritten refuses a place that an agent can write: of this session or of another
// project, to which a session may have been.
func (b *Base) refuseWritten(path string) error {
	if b.writes(path) || b.Dirs.Has(path) {
		return fmt.Errorf("an agent can write %q", path)
	}
	for _, dir := range b.Written() {
		if real, err := filepath.EvalSymlinks(dir); err == nil && file.Within(path, real) {
			return fmt.Errorf("an agent can write %q", path)
		}
	}
	return nil
}
