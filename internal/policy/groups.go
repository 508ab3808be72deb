package policy

var (
	usual  = []string{dev, internet, opened}         // groups that most work needs
	always = []string{locked, dev, internet, opened} // groups that deny
	never  = []string(nil)                           // groups that are there to be switched on
)

// allGroups is every group. A host is listed because a tool of the ecosystem needs
// it to fetch, and by name; a star stands where the owner of the domain alone hands
// out the names below it. Left out on purpose: hosts that only take uploads, hosts
// that count users, and storage where anybody can have a bucket, even if a tool
// fetches from one.
//
// Forges and most registries also take what is sent to them by who has an account
// there: those are in the table of common hosts, and the broker's.
var allGroups = []Group{
	{Name: "github", About: "GitHub: git, API, archives and release files", Modes: usual, Hosts: []string{
		"github.com", "github.com:22", "api.github.com", "codeload.github.com", "raw.githubusercontent.com",
		"objects.githubusercontent.com", "release-assets.githubusercontent.com",
		"media.githubusercontent.com", "github-cloud.githubusercontent.com", // large files
	}},
	{Name: "gitlab", About: "GitLab.com: git and API", Modes: usual, Hosts: []string{"gitlab.com", "gitlab.com:22"}},
	{Name: "bitbucket", About: "Bitbucket: git and API", Modes: usual, Hosts: []string{
		"bitbucket.org", "bitbucket.org:22", "api.bitbucket.org",
	}},
	{Name: "codeberg", About: "Codeberg: git and API", Modes: usual, Hosts: []string{"codeberg.org", "codeberg.org:22"}},
	{Name: "sourcehut", About: "SourceHut: git and Mercurial", Modes: never, Hosts: []string{
		"sr.ht", "git.sr.ht", "git.sr.ht:22", "hg.sr.ht", "hg.sr.ht:22",
	}},

	{Name: "npm", About: "npm, Yarn and JSR registries, headers of Node.js", Modes: usual, Hosts: []string{
		"*.npmjs.org", "*.yarnpkg.com", "jsr.io", "npm.jsr.io", "nodejs.org",
	}},
	{Name: "python", About: "PyPI", Modes: usual, Hosts: []string{"pypi.org", "files.pythonhosted.org", "bootstrap.pypa.io"}},
	{Name: "rust", About: "crates.io and rustup", Modes: usual, Hosts: []string{
		"crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org",
	}},
	{Name: "go", About: "Go modules, checksums and toolchains", Modes: usual, Hosts: []string{
		"*.golang.org", "golang.org", "go.dev", "dl.google.com", "gopkg.in",
	}},
	{Name: "java", About: "Maven Central, Gradle's plugins and distributions, Google's Maven repository", Modes: usual, Hosts: []string{
		"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "plugins-artifacts.gradle.org",
		"services.gradle.org", "downloads.gradle.org", "maven.google.com", "dl.google.com",
	}},
	{Name: "ruby", About: "RubyGems", Modes: usual, Hosts: []string{"rubygems.org", "index.rubygems.org", "cache.ruby-lang.org"}},
	{Name: "php", About: "Packagist and Composer", Modes: usual, Hosts: []string{"packagist.org", "repo.packagist.org", "getcomposer.org"}},
	{Name: "dotnet", About: "NuGet and the .NET SDK", Modes: usual, Hosts: []string{
		"api.nuget.org", "globalcdn.nuget.org", "builds.dotnet.microsoft.com",
	}},
	{Name: "debian", About: "Debian's archive: every name of debian.org", Modes: usual, Hosts: []string{"*.debian.org"}},
	{Name: "ubuntu", About: "Ubuntu's archive", Modes: usual, Hosts: []string{
		"archive.ubuntu.com", "*.archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com", "changelogs.ubuntu.com",
	}},
	{Name: "alpine", About: "Alpine's packages", Modes: never, Hosts: []string{"dl-cdn.alpinelinux.org"}},
	{Name: "nix", About: "Nix: binary cache, channels and sources", Modes: never, Hosts: []string{
		"cache.nixos.org", "channels.nixos.org", "releases.nixos.org", "tarballs.nixos.org",
	}},
	{Name: "haskell", About: "Hackage, Stackage and GHC", Modes: never, Hosts: []string{
		"hackage.haskell.org", "downloads.haskell.org", "www.stackage.org", "casa.stackage.org",
	}},
	{Name: "elixir", About: "Hex and its documentation", Modes: never, Hosts: []string{"hex.pm", "repo.hex.pm", "builds.hex.pm", "hexdocs.pm"}},
	{Name: "dart", About: "pub.dev (Flutter's own files lie in a bucket and are left out)", Modes: never, Hosts: []string{"pub.dev"}},
	{Name: "swift", About: "Swift toolchains and CocoaPods", Modes: never, Hosts: []string{
		"swift.org", "www.swift.org", "download.swift.org", "cdn.cocoapods.org",
	}},
	{Name: "conda", About: "Anaconda and conda-forge", Modes: never, Hosts: []string{
		"conda.anaconda.org", "repo.anaconda.com", "micro.mamba.pm",
	}},
	{Name: "perl", About: "CPAN", Modes: never, Hosts: []string{"www.cpan.org", "cpan.metacpan.org", "fastapi.metacpan.org", "metacpan.org"}},
	{Name: "containers", About: "Docker Hub, GitHub's, Red Hat's and Microsoft's container registries", Modes: never, Hosts: []string{
		"registry-1.docker.io", "auth.docker.io", "production.cloudflare.docker.com",
		"ghcr.io", "pkg-containers.githubusercontent.com",
		"quay.io", "*.quay.io", "mcr.microsoft.com", "*.data.mcr.microsoft.com",
	}},
	{Name: "browsers", About: "Playwright's browsers", Modes: never, Hosts: []string{
		"cdn.playwright.dev", "playwright.download.prss.microsoft.com",
	}},

	// Sites that are written by the projects they are about. Questions and answers,
	// wikis and hosts of anybody's pages are left out: what takes posts can be sent
	// to, and what anybody writes can talk to the agent. go.dev and pkg.go.dev keep
	// shared snippets of their playground: they are read by who knows the link alone.
	{Name: "docs", About: "documentation of common languages, libraries and tools", Modes: usual, Hosts: []string{
		"developer.mozilla.org", "www.w3.org", "*.spec.whatwg.org", "www.rfc-editor.org", "json-schema.org",
		"nodejs.org", "docs.npmjs.com", "typescriptlang.org", "www.typescriptlang.org", "react.dev", "vuejs.org", "angular.dev",
		"svelte.dev", "nextjs.org", "vite.dev", "vitest.dev", "eslint.org", "jestjs.io", "playwright.dev", "tailwindcss.com",
		"docs.python.org", "peps.python.org", "packaging.python.org", "pip.pypa.io", "docs.pytest.org", "docs.djangoproject.com",
		"flask.palletsprojects.com", "fastapi.tiangolo.com", "docs.pydantic.dev", "numpy.org", "pandas.pydata.org",
		"docs.scipy.org", "scikit-learn.org", "matplotlib.org", "pytorch.org", "docs.pytorch.org",
		"docs.rs", "doc.rust-lang.org", "www.rust-lang.org", "pkg.go.dev", "go.dev",
		"docs.oracle.com", "kotlinlang.org", "docs.spring.io", "docs.gradle.org", "maven.apache.org",
		"docs.ruby-lang.org", "guides.rubyonrails.org", "api.rubyonrails.org", "www.php.net", "laravel.com", "learn.microsoft.com",
		"www.postgresql.org", "sqlite.org", "www.sqlite.org", "redis.io", "nginx.org", "kubernetes.io", "helm.sh",
		"docs.docker.com", "developer.hashicorp.com", "docs.aws.amazon.com", "docs.github.com", "docs.gitlab.com", "git-scm.com",
		"man7.org", "docs.kernel.org", "www.gnu.org", "gcc.gnu.org", "llvm.org", "clang.llvm.org", "cmake.org",
	}},

	// A resolver that the gate does not see answers names that were never judged.
	{Name: "doh", About: "public resolvers over HTTPS or TLS", Deny: true, Modes: always, Hosts: []string{
		"dns.google", "*.dns.google", "dns.google.com", "google-public-dns-a.google.com", "google-public-dns-b.google.com",
		"cloudflare-dns.com", "*.cloudflare-dns.com", "one.one.one.one", "*.one.one.one.one", "*.cloudflare-gateway.com",
		"*.quad9.net", "doh.opendns.com", "doh.familyshield.opendns.com", "dns.opendns.com", "doh.umbrella.com", "dns.umbrella.com",
		"dns.nextdns.io", "*.dns.nextdns.io", "dns.adguard.com", "*.dns.adguard.com", "*.adguard-dns.com", "*.adguard-dns.io",
		"doh.cleanbrowsing.org", "*.cleanbrowsing.org", "dns.mullvad.net", "*.dns.mullvad.net", "doh.mullvad.net",
		"dns.controld.com", "*.dns.controld.com", "freedns.controld.com", "dns0.eu", "*.dns0.eu", "*.joindns4.eu",
		"doh.dns.sb", "dot.sb", "doh.sb", "*.doh.sb", "dns.alidns.com", "*.alidns.com", "doh.pub", "dot.pub", "doh.360.cn", "dot.360.cn",
		"doh.dns.apple.com", "doh.xfinity.com", "dot.xfinity.com", "ordns.he.net", "dns.switch.ch", "doh.li", "doh.tiar.app",
		"*.rethinkdns.com", "dns.twnic.tw", "public.dns.iij.jp", "doh.libredns.gr", "dot.libredns.gr", "dnsforge.de",
		"dns.digitale-gesellschaft.ch", "doh.applied-privacy.net", "dot1.applied-privacy.net", "doh.ffmuc.net", "dot.ffmuc.net",
	}},

	// Who can open a tunnel outwards lets others in, and speaks to anybody.
	{Name: "tunnels", About: "services that make a server inside reachable, and private overlay networks", Deny: true, Modes: always, Hosts: []string{
		"ngrok.com", "*.ngrok.com", "*.ngrok-agent.com", "*.ngrok.io", "*.ngrok.app", "*.ngrok.dev", "*.ngrok.pizza",
		"*.ngrok-free.app", "*.ngrok-free.dev", "*.ngrok-free.pizza",
		"trycloudflare.com", "*.trycloudflare.com", "*.argotunnel.com", "*.cftunnel.com", "*.cfargotunnel.com",
		"tunnels.api.visualstudio.com", "*.tunnels.api.visualstudio.com", "devtunnels.ms", "*.devtunnels.ms",
		"localtunnel.me", "*.localtunnel.me", "loca.lt", "*.loca.lt", "serveo.net", "*.serveo.net", "*.serveousercontent.com",
		"localhost.run", "*.localhost.run", "*.lhr.life", "*.lhr.rocks", "pagekite.net", "*.pagekite.net", "*.pagekite.me",
		"bore.pub", "pinggy.io", "*.pinggy.io", "*.pinggy.link", "*.pinggy.online", "*.zrok.io", "*.playit.gg", "playit.gg", "*.ply.gg",
		"tunnelmole.com", "*.tunnelmole.com", "*.tunnelmole.net", "*.packetriot.com", "*.packetriot.net", "*.tunnelto.dev",
		"expose.dev", "*.expose.dev", "*.sharedwithexpose.com", "srv.us", "*.srv.us", "tuns.sh", "*.tuns.sh",
		"*.loophole.cloud", "*.loophole.site", "localtonet.com", "*.localtonet.com", "*.localto.net", "remote.it", "*.remote.it",
		"tmate.io", "*.tmate.io", "*.upterm.dev", "*.tailscale.com", "*.ts.net", "*.zerotier.com", "*.netbird.io",
	}},

	// Nobody fetches from them what a project needs; what is sent there anybody
	// who knows the link can read.
	{Name: "drops", About: "request bins, paste sites and file drops", Deny: true, Modes: always, Hosts: []string{
		"webhook.site", "*.webhook.site", "requestbin.com", "*.requestbin.com", "requestbin.net", "*.requestbin.net",
		"pipedream.net", "*.pipedream.net", "requestcatcher.com", "*.requestcatcher.com", "*.beeceptor.com", "hookbin.com", "postb.in",
		"www.postb.in", "ptsv2.com", "ptsv3.com", "requestrepo.com", "*.requestrepo.com", "webhook.cool", "httpdump.app", "smee.io",
		"*.hkdk.events", "ntfy.sh", "interact.sh", "*.interact.sh", "*.oast.pro", "*.oast.live", "*.oast.site", "*.oast.online",
		"*.oast.fun", "*.oast.me", "oast.pro", "oast.live", "oast.site", "oast.online", "oast.fun", "oast.me",
		"*.oastify.com", "*.burpcollaborator.net", "dnslog.cn", "*.dnslog.cn", "ceye.io", "*.ceye.io", "canarytokens.com", "canarytokens.org",
		"transfer.sh", "file.io", "www.file.io", "0x0.st", "x0.at", "envs.sh", "ttm.sh", "temp.sh", "keep.sh", "*.keep.sh", "bashupload.com",
		"oshi.at", "gofile.io", "*.gofile.io", "catbox.moe", "*.catbox.moe", "tmpfiles.org", "filebin.net", "wormhole.app", "send.vis.ee",
		"uguu.se", "*.uguu.se", "pixeldrain.com", "wetransfer.com", "*.wetransfer.com", "upload.ee", "www.upload.ee", "*.sendspace.com",
		"pastebin.com", "paste.ee", "dpaste.com", "dpaste.org", "hastebin.com", "*.hastebin.com", "ix.io", "sprunge.us", "termbin.com",
		"clbin.com", "paste.rs", "bpa.st", "bpaste.net", "paste.debian.net", "paste.mozilla.org", "paste.ubuntu.com", "paste.opendev.org",
		"paste.centos.org", "rentry.co", "rentry.org", "privatebin.net", "0bin.net", "justpaste.it", "controlc.com", "paste.gg", "cl1p.net",
		"snippet.host", "hst.sh", "katb.in", "dontpad.com", "telegra.ph", "play.golang.org",
	}},
}
