package lending

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Where the certificates lie inside.
const (
	bundlePath = plan.Own + "/ca.pem"         // the host's and the session's
	ownPath    = plan.Own + "/ca-session.pem" // the session's alone
	javaPath   = plan.Own + "/ca.p12"
)

// bundles are where systems keep the authorities they trust.
var bundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}

// settingsFiles are read by programs that ask the system's library for certificates,
// by the variable that names each.
var settingsFiles = map[string]struct{ who, path, text string }{
	"SYSTEM_WGETRC": {"wget", plan.Own + "/wgetrc", "ca_certificate = " + bundlePath + "\n"},
	"APT_CONFIG":    {"apt", plan.Own + "/apt.conf", "Acquire::https::CaInfo \"" + bundlePath + "\";\n"},
}

const maxBundle = 4 << 20

// trustBroker lets clients inside trust the session's authority besides those of the
// host. There is no one place that all of them look at.
func trustBroker(b launch.Base, c *launch.Contribution, own []byte, path string) error {
	host, err := hostBundle(b.Getenv)
	if err != nil {
		return err
	}
	more := companyCertificates(c, b.Getenv)
	own = append(slices.Clone(own), more...)
	both := append(append(bytes.TrimRight(host, "\n"), '\n'), own...)
	c.Put(ownPath, own, "certificate of the broker")
	c.Put(bundlePath, both, "certificates of the host and of the broker")
	set := func(value string, names ...string) {
		for _, n := range names {
			c.Set("broker", n, value)
		}
	}
	set(bundlePath, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",
		"NIX_SSL_CERT_FILE", "PERL_LWP_SSL_CA_FILE", "HEX_CACERTS_PATH", "SYSTEM_CERTIFICATE_PATH",
		"npm_config_cafile", "YARN_HTTPS_CA_FILE_PATH") // a cafile of the system's would take the place of what node trusts
	set(bundlePath, b.Profile.Env.Trust...)
	// By its settings: a variable would go before what a repository says of its own server.
	c.GitConfig += "[http]\n\tsslCAInfo = \"" + bundlePath + "\"\n"
	for _, name := range slices.Sorted(maps.Keys(settingsFiles)) { // of programs that heed no variable of their own
		file := settingsFiles[name]
		c.Put(file.path, []byte(file.text), "leads "+file.who+" to the certificates")
		set(file.path, name)
	}
	set(ownPath, "NODE_EXTRA_CA_CERTS", "DENO_CERT")
	if hasJava(path) {
		c.Put(javaPath, javaStore(both), "certificates of the host and of the broker, for Java")
		set("-Djavax.net.ssl.trustStore="+javaPath+" -Djavax.net.ssl.trustStoreType=PKCS12", "JAVA_TOOL_OPTIONS")
	}
	return nil
}

// hostBundle reads the authorities that the host trusts.
func hostBundle(getenv func(string) string) ([]byte, error) {
	for _, p := range append([]string{getenv("SSL_CERT_FILE")}, bundles...) {
		if p == "" {
			continue
		}
		if b, err := launch.ReadIfPresent(p, maxBundle); err != nil || b != nil {
			return b, err
		}
	}
	return nil, nil // a host without any trusts nobody; neither does the sandbox
}

// companyCertificates are those that the launcher's environment names besides: behind a
// company's own TLS its clients need them inside as well.
func companyCertificates(c *launch.Contribution, getenv func(string) string) (out []byte) {
	seen := map[string]bool{getenv("SSL_CERT_FILE"): true, "": true}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "DENO_CERT"} {
		file := getenv(name)
		if seen[file] || slices.Contains(bundles, file) {
			continue
		}
		seen[file] = true
		b, err := launch.ReadIfPresent(file, maxBundle)
		if err != nil {
			c.Notice(fmt.Sprintf("%s: the certificates cannot be read: %v", name, err))
		}
		for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" { // and nothing else that a file may hold
				out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
			}
		}
	}
	return out
}

// hasJava tells whether the extra second that a truststore costs a JVM, and the line
// that it prints about it, are worth it.
func hasJava(path string) bool {
	for _, dir := range strings.Split(path, ":") {
		if st, err := os.Stat(dir + "/java"); err == nil && st.Mode().IsRegular() {
			return true
		}
	}
	return false
}
