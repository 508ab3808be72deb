package clients

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ringfence.dev/ringfence/test/world"
)

func portText(p uint16) string { return strconv.Itoa(int(p)) }

// at puts an address of IPv6 into the brackets that a URL wants.
func at(host string) string {
	if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
		return "[" + host + "]"
	}
	return host
}

const fetchNode = `fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t))`

const fetchPython = `
import ssl, sys, urllib.request
tls = ssl.create_default_context(cafile="ca.pem")
print(urllib.request.urlopen(sys.argv[1], context=tls, timeout=20).read().decode())
`

const fetchJava = `
import java.net.URI;
import java.net.http.*;

public class Fetch {
	public static void main(String[] args) throws Exception {
		var request = HttpRequest.newBuilder(URI.create(args[0])).build();
		System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
	}
}
`

// web is a client of the web servers; argv gets a URL.
func web(name, scheme, command string, argv func(w *world.World, url string) []string) client {
	c := client{name: name, host: world.Allowed, port: 443, other: world.Other, literal: "203.0.113.11", want: "origin ", command: []string{command}}
	if scheme == "http" {
		c.port = 80
	}
	c.argv = func(w *world.World, host string) []string { return argv(w, scheme+"://"+at(host)+"/") }
	return c
}

func curl(name, scheme string, flags ...string) client {
	return web(name, scheme, "curl", func(w *world.World, url string) []string {
		return append(append([]string{"curl", "-sS", "-f", "--cacert", w.CA}, flags...), url)
	})
}

// with changes a client and returns it.
func (c client) with(change func(*client)) client {
	change(&c)
	return c
}

func over6(c *client) { c.literal = "2001:db8::11" }

var clients = []client{
	curl("curl over http", "http"),
	curl("curl over https", "https"),
	curl("curl over http and IPv6", "http", "-6").with(over6),
	curl("curl over https and IPv6", "https", "-6").with(over6),
	curl("curl to a host of IPv6 only", "https").with(func(c *client) { c.host = world.V6Only }).with(over6),
	curl("curl over HTTP/2 in the clear", "http", "--http2-prior-knowledge").with(func(c *client) { c.raw = true }),
	web("git", "https", "git-remote-http", func(w *world.World, url string) []string {
		return []string{"git", "-c", "http.sslCAInfo=" + w.CA, "clone", "--progress", url + "git/" + repository(w), "clone"}
	}).with(gitClient),
	web("node fetch", "https", "node", func(w *world.World, url string) []string {
		return []string{"env", "NODE_EXTRA_CA_CERTS=" + w.CA, "node", "-e", fetchNode, url}
	}).with(func(c *client) { c.command = append(c.command, "node-MainThread", "MainThread") }),
	web("Python urllib", "https", "python3", func(w *world.World, url string) []string {
		return []string{"python3", "-c", fetchPython, url}
	}),
	web("Go net/http", "https", "client", func(w *world.World, url string) []string {
		return []string{"./client", "get", url, w.CA}
	}).with(bring),
	web("JVM", "https", "java", func(w *world.World, url string) []string {
		return []string{"java", "-XX:TieredStopAtLevel=1", "-Djavax.net.ssl.trustStore=trust", "-Djavax.net.ssl.trustStorePassword=changeit", "-cp", ".", "Fetch", url}
	}).with(func(c *client) { c.prepare = prepareJava }),
	{name: "psql", prepare: startPostgres, host: world.Database, port: 5432, other: world.Other, literal: "203.0.113.20", want: "42", command: []string{"psql"},
		argv: func(w *world.World, host string) []string {
			return []string{"psql", "-h", host, "-U", world.ServerUser, "-d", "postgres", "-Atc", "select 6 * 7"}
		}},
	{name: "ssh", prepare: startSSH, host: world.Git, port: 22, other: world.Other, literal: "203.0.113.21", want: "hello over ssh", command: []string{"ssh"},
		argv: func(w *world.World, host string) []string {
			return []string{"ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
				"-i", "key", world.ServerUser + "@" + host, "echo hello over ssh"}
		}},
	web("static binary", "http", "client", nil).with(bring).with(func(c *client) {
		c.argv = func(w *world.World, host string) []string { return []string{"./client", "raw", host} }
	}),
}

func bring(c *client) { c.prepare = func(t *testing.T, w *world.World) { w.Bring("client") } }

// gitClient prints what it has cloned.
func gitClient(c *client) {
	clone := c.argv
	c.prepare, c.want = makeRepository, "text of the repository"
	c.argv = func(w *world.World, host string) []string {
		return append([]string{"sh", "-c", `"$@" && cat clone/file`, "sh"}, clone(w, host)...)
	}
}

// repository is the name of the one that belongs to a world.
func repository(w *world.World) string { return filepath.Base(w.Dir) + ".git" }

func makeRepository(t *testing.T, w *world.World) {
	bare := filepath.Join(world.Web, repository(w))
	t.Cleanup(func() { os.RemoveAll(bare) })
	must(t, w, "sh", "-c", `git init -q made && cd made && echo "text of the repository" >file && git add file &&
		git -c user.name=a -c user.email=a@allowed.test commit -q -m first && git clone -q --bare . `+bare)
}

func prepareJava(t *testing.T, w *world.World) {
	w.Put("Fetch.java", []byte(fetchJava), 0o644)
	must(t, w, "javac", "Fetch.java")
	must(t, w, "keytool", "-importcert", "-noprompt", "-alias", "world", "-file", w.CA, "-keystore", "trust", "-storepass", "changeit")
}

// must runs a program on the host that prepares something.
func must(t *testing.T, w *world.World, argv ...string) {
	t.Helper()
	if r := w.Bare(argv...); r.Status != 0 {
		t.Fatalf("%q: status %d\n%s%s", argv, r.Status, r.Stdout, r.Stderr)
	}
}

// scratch removes what a client left in the workspace.
func scratch(w *world.World) { os.RemoveAll(filepath.Join(w.Dir, "clone")) }

// startPostgres starts a database at every address of the internet.
func startPostgres(t *testing.T, w *world.World) {
	data := filepath.Join(world.Net, filepath.Base(w.Dir)+"-data")
	t.Cleanup(func() { w.Prepare("rm", "-rf", data) })
	tools := postgresDir(t)
	w.Prepare(tools+"/initdb", "-D", data, "-A", "trust", "-U", world.ServerUser, "--no-sync", "--locale=C", "-E", "UTF8")
	w.Prepare("sh", "-c", "echo host all all all trust >"+data+"/pg_hba.conf")
	w.Serve("203.0.113.20:5432", tools+"/postgres", "-D", data, "-h", "*", "-k", data, "-c", "fsync=off")
	w.Prepare("sh", "-c", "until "+tools+"/pg_isready -q -h 203.0.113.20; do sleep 0.05; done") // it listens before it is
}

// postgresDir is where Debian has the server; it is on nobody's PATH.
func postgresDir(t *testing.T) string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		t.Fatal("no PostgreSQL below /usr/lib/postgresql: run `make tools`")
	}
	return found[len(found)-1]
}

// startSSH starts a server at every address of the internet that knows a key of the
// workspace.
func startSSH(t *testing.T, w *world.World) {
	must(t, w, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
	public, err := os.ReadFile(filepath.Join(w.Dir, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(world.Net, filepath.Base(w.Dir)+"-ssh")
	t.Cleanup(func() { w.Prepare("rm", "-rf", dir) })
	w.Prepare("mkdir", dir)
	w.Prepare("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir+"/host")
	w.Prepare("sh", "-c", fmt.Sprintf("echo %q >%s/keys", public, dir))
	w.Serve("203.0.113.21:22", "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", dir+"/host", "-o", "PidFile=none",
		"-o", "AuthorizedKeysFile="+dir+"/keys", "-o", "StrictModes=no", "-o", "UsePAM=no", "-o", "PasswordAuthentication=no")
}
