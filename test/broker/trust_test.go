package broker

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// issuers are programs that get a page over TLS and tell who certified its server.
// They trust what their variables tell them to.
var issuers = map[string]string{
	"curl": `curl -sS -v https://$H/ 2>&1 | grep -o 'issuer: .*\|HTTP/[0-9.]* 200\|SSL certificate problem.*'`,
	"python": `python3 -c '
import os, ssl, urllib.request
r = urllib.request.urlopen("https://" + os.environ["H"] + "/"); print("200" if r.status == 200 else r.status)
import socket
c = ssl.create_default_context().wrap_socket(socket.create_connection((os.environ["H"], 443)), server_hostname=os.environ["H"]); print(c.getpeercert()["issuer"])'`,
	"node": `node -e '
const tls = require("tls"), h = process.env.H;
fetch("https://" + h + "/").then(r => { console.log(r.status); const c = tls.connect({host: h, port: 443, servername: h}, () => { console.log(c.getPeerCertificate().issuer.CN); c.end() }) }).catch(e => console.log(e.cause || e))'`,
	"java": `java -XX:TieredStopAtLevel=1 Issuer.java $H`,
}

const javaIssuer = `
import java.net.URI; import java.net.http.*; import java.security.cert.X509Certificate;
public class Issuer { public static void main(String[] a) throws Exception {
	HttpResponse<String> r = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("https://" + a[0] + "/")).build(), HttpResponse.BodyHandlers.ofString());
	System.out.println(r.statusCode());
	System.out.println(((X509Certificate) r.sslSession().get().getPeerCertificates()[0]).getIssuerX500Principal());
} }
`

// Clients trust the session's own authority for the broker's hosts; for any other host
// they see the certificate of the origin. The users share the clients.
func TestTrust(t *testing.T) {
	need(t, "curl", "python3", "node", "java")
	s, v := sinks(t)
	s.Put("Issuer.java", []byte(javaIssuer), 0o644)
	theirs, err := os.ReadFile(s.CA)
	if err != nil {
		t.Fatal(err)
	}
	// Not in the workspace, where nobody would believe it.
	s.env = append(s.env, "NODE_EXTRA_CA_CERTS="+s.write(filepath.Join(s.State, "theirs.pem"), string(theirs), 0o644)) // node asks nothing else, on the host neither
	h := s.hold("run", "--allow-host", world.Allowed, "--", "sh")
	for i, name := range []string{"curl", "python", "node", "java"} {
		if !stage.Mine(i) {
			continue
		}
		v.forget()
		out, _ := h.try("export H=" + privateOne + "; " + issuers[name])
		if !strings.Contains(out, "200") || !strings.Contains(out, "ringfence session ") {
			t.Errorf("%s does not trust the session's authority:\n%s", name, out)
		}
		if !v.holds("Bearer CANARY") {
			t.Errorf("%s: the origin got no credential", name)
		}
		out, _ = h.try("export H=" + world.Allowed + "; " + issuers[name])
		if !strings.Contains(out, "200") || !strings.Contains(out, "World Test CA") || strings.Contains(out, "ringfence session") {
			t.Errorf("%s does not see the origin's certificate:\n%s", name, out)
		}
	}
	// The authority speaks for its hosts alone, and its key is nowhere inside.
	block, _ := pem.Decode([]byte(h.say("cat $NODE_EXTRA_CA_CERTS")))
	if block == nil {
		t.Fatal("there is no certificate of the authority")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !slices.Contains(cert.PermittedDNSDomains, privateOne) || slices.Contains(cert.PermittedDNSDomains, world.Allowed) || !cert.PermittedDNSDomainsCritical {
		t.Errorf("the authority: %v, for %v", err, cert.PermittedDNSDomains)
	}
	if out := h.say("grep -rlI 'PRIVATE KEY' /.ringfence"); out != "" {
		t.Errorf("a key: %s", out)
	}
	// The control: without the variables nobody trusts it.
	out, ok := h.try("env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://" + privateOne + "/")
	if ok || !strings.Contains(out, "certificate") {
		t.Errorf("control: %s", out)
	}
}
