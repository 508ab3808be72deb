package lending

import (
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

// settingsFiles are read by programs that ask the system's library for certificates,
// by the variable that names each.
var settingsFiles = map[string]struct{ who, path, text string }{
	"SYSTEM_WGETRC": {"wget", plan.Own + "/wgetrc", "ca_certificate = " + bundlePath + "\n"},
	"APT_CONFIG":    {"apt", launch.AptConfigPath, "Acquire::https::CaInfo \"" + bundlePath + "\";\n"},
}

// trustHost lets clients inside believe whom the host believes, and the session's own
// authority where there is one. There is no one place that all of them look at. Where the
// system's own store says all, they are left to it.
func trustHost(b launch.Base, c *launch.Contribution, own []byte, path string) error {
	if own == nil && b.Trust.Pool == nil {
		return nil
	}
	from, whose := "certificates", "the host"
	if own != nil {
		from, whose = "broker", "the host and of the broker"
	}
	both := append(b.Trust.All(), own...)
	why := "certificate of the broker"
	if len(b.Trust.More) > 0 {
		why = "certificates besides the system's"
	}
	c.Put(ownPath, append(slices.Clone(own), b.Trust.More...), why)
	c.Put(bundlePath, both, "certificates of "+whose)
	set := func(value string, names ...string) {
		for _, n := range names {
			c.Set(from, n, value)
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
		c.Put(javaPath, javaStore(both), "certificates of "+whose+", for Java")
		set("-Djavax.net.ssl.trustStore="+javaPath+" -Djavax.net.ssl.trustStoreType=PKCS12", "JAVA_TOOL_OPTIONS")
	}
	return nil
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
