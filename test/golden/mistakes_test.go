package golden

import "strings"

// each makes a row of every line.
func each(lines string) (out []mistake) {
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		out = append(out, mistake{args: strings.TrimSpace(line)})
	}
	return out
}

var commandMistakes = each(`
	polic
	frobnicate
	--frobnicate
	help frobnicate
	help policy frobnicate
	version extra
	env --frobnicate
	env extra
	env --agent nobody
	ps extra
	ps --frobnicate
	status absent
	status absent --json --line
	inspect
	inspect absent
	exec
	exec absent
	exec absent -- ls
	attach absent
	detach absent
	logs
	logs absent
	stop
	stop absent
	stop --all absent
	thaw absent
	rm
	rm absent
	diff absent
	apply absent
	discard absent
	undo absent
	undo --frobnicate
	why
	why --last
	why a b
	requests absent
	grant
	grant absent
	grant absent --host api.example.test
	grant absent --host api.example.test --for never
	log absent
	log verify absent
	log export
	log export absent
	policy
	policy frobnicate
	policy show extra
	policy check extra
	policy test
	policy test absent.toml
	policy import
	policy import frobnicate
	policy groups frobnicate
	trust extra
	trust
	audit absent
	audit --json --sarif
	scan absent
	doctor extra
	verify extra
	drill frobnicate
	init extra
	install frobnicate --dry-run
	uninstall
	hook frobnicate
	mcp
	mcp frobnicate
	mcp run
	mcp run absent
	mcp trust
	gc --days -1
	gc extra
	completion
	completion tcsh
	man frobnicate
	learn
	learn --frobnicate
`)

var launchMistakes = each(`
	run
	run --frobnicate -- tool
	run -- absent-program
	run -- ./absent
	run -- ./readme
	shell extra
	claude fix-it --verbose
	claude --reviev
	codex --model x --net none
	run --dry-run=xml -- tool
	run --net -- tool
	run --net wide -- tool
	run --net dev,+nobody -- tool
	run --net dev,rust -- tool
	run --net none --allow-host api.example.test -- tool
	run --allow-host https://api.example.test/x -- tool
	run --allow-host * -- tool
	run --allow-host 10.0.0.1 -- tool
	run --allow-host api.example.test:99999 -- tool
	run --deny-host a/b -- tool
	run --allow-ip 10.0.0.1 -- tool
	run --allow-ip example.test:443 -- tool
	run --allow-ip 10.0.0.0/33:443 -- tool
	run --host-port 0 -- tool
	run --host-port x -- tool
	run --publish 1:2:3 -- tool
	run --publish 70000 -- tool
	run --proxy ftp://proxy.example.test -- tool
	run --proxy http://me:secret@proxy.example.test:3128 -- tool
	run --ro '' -- tool
	run --ro /no/such/path -- tool
	run --rw /etc -- tool
	run --rw /usr/lib -- tool
	run --ro / -- tool
	run --ro ../.ssh -- tool
	run --rw .. -- tool
	run --mask *.key -- tool
	run --mask ../x -- tool
	run --mask '' -- tool
	run --reveal '' -- tool
	run --review --live -- tool
	run --clone --workspace .. -- tool
	run --workspace / -- tool
	run --workspace /etc -- tool
	run --workspace .. -- tool
	run --workspace ../.ssh -- tool
	run --workspace absent -- tool
	run --workspace readme -- tool
	run --env 1X=y -- tool
	run --env LD_PRELOAD=/x.so -- tool
	run --env '' -- tool
	run --force-env BAD-NAME -- tool
	run --pids x -- tool
	run --pids 0 -- tool
	run --pids 2 -- tool
	run --memory many -- tool
	run --memory 1KiB -- tool
	run --name bad/name -- tool
	run --mcp ../x -- tool
	run --min-release-age soon -- tool
	run --allow-package a*b -- tool
	-d -- tool
`)

var missingAgents = each(`
	claude
	codex
	gemini
	opencode
	run -- tool
	learn -- tool
	install all --dry-run
`)

var secretMistakes = each(`
	secret
	secret frobnicate
	secret set
	secret set a$b
	secret set github ghp_cccccccccccccccccccccccccccccccccccc
	secret set x --
	secret set x --use gitub
	secret set x --use header --host x.test
	secret set npm
	secret set lab --use npm
	secret set lab --use pypi --from env:PY --env PYTOKEN
	secret set lab --use bearer
	secret set lab --use basic
	secret set lab --use header
	secret set lab --use aws
	secret set lab --use gitlab --host lab.test/group
	secret set lab --use npm --host //reg.test/npm/
	secret set lab --use npm --host reg.test/a/../b
	secret set lab --use npm --host reg.test/a%2Fb
	secret set lab --use github --host *.x.test
	secret set lab --from file:rel
	secret set lab --from env:A -- cmd
	secret set lab --from command
	secret set lab --header Host --use header --host x.test
	secret set github
	secret test
	secret test absent
	secret rm
	secret rm absent
	secret ls extra
`)

// policyMistakes are files; each is met by a launch.
func policyMistakes() (out []mistake) {
	for _, file := range []string{
		"[files\n", "read = 1\n", "[fils]\nread = [\"/opt\"]\n", "[files]\nread = [\"/opt\"]\nmaask = [\"x\"]\n",
		"[files]\nread = \"/opt\"\n", "[files]\nread = [1]\n", "[files]\nread = [\"/opt\"]\nread = [\"/srv\"]\n", "[files]\nread = [\"/opt\", \"/opt\"]\n",
		"[files]\nread = [\"lib\"]\n", "[files]\nwrite = [\"/no/such/path\"]\n", "[files]\nwrite = [\"/\", \"/usr/lib\", \"/proc\", \"~/\"]\n",
		"[files]\nmask = [\"/opt/x\"]\n", "[files]\nmask = [\"*.key\"]\n", "[files]\nread = [\"~/.ssh\"]\n",
		"[workspace]\nview = \"lively\"\n", "[workspace]\npaths = [\"../x\"]\n", "[workspace]\nmask = [\"[\"]\n", "[workspace]\nundo = \"many\"\n",
		"[env]\npass = [\"BAD-NAME\"]\n", "[env]\nforce = [\"LD_PRELOAD\"]\n", "[env.set]\nX = 1\n", "[env.set]\n\"a b\" = \"x\"\n",
		"[network]\nmode = \"wide\"\n", "[network]\ngroups = [\"rust\"]\n", "[network]\ngroups = [\"+nobody\"]\n", "[network]\ngroups = [\"+rust\", \"-rust\"]\n",
		"[network]\nallow = [\"http://x.test/**/y\"]\n", "[network]\nallow = [\"*.com\"]\n", "[network]\nallow = [\"BREW https://x.test/\"]\n",
		"[network]\ndeny = [\"x.test/path\"]\n", "[network]\nip = [\"10.0.0.1\"]\n", "[network]\npublish = [0]\n", "[network]\nhost-ports = [\"80\"]\n",
		"[network]\nproxy = \"proxy.example.test\"\n", "[network.budget]\n\"x.test\" = \"many\"\n",
		"[limits]\npids = 4\n", "[limits]\npids = \"4\"\n", "[limits]\nmemory = \"4 GB of it\"\n", "[limits]\nmemory-share = 101\n", "[limits]\ntmp = 0\n",
		"[require]\nwalls = [\"moat\"]\n", "[require]\nwalls = [\"user\"]\n", "[require]\nlimits = [\"time\"]\n",
		"[broker]\nmodel-allow = [\"everything\"]\n", "[broker]\ngit = [\"push\"]\n", "[broker]\nprotected = [\"a b\"]\n", "[broker]\nrepos = [\"acme\"]\n",
		"[broker]\nopen = [\"x.test\"]\n", "[broker]\ndecoys = \"yes\"\n", "[supply]\nage = \"soon\"\n", "[supply]\nallow = [\"a*b\"]\n",
		"[secret.x]\nuse = \"bearer\"\n", "[secret.x]\nuse = \"magic\"\n", "[secret.x]\nhost = [\"x.test\"]\n", "[secret.\"a b\"]\nuse = \"github\"\n",
		"[secret.x]\nuse = \"npm\"\nhosts = [\"*.x.test\"]\nfrom = \"env:X\"\n", "[secret.x]\nuse = \"bearer\"\nhosts = [\"x.test\"]\nfrom = \"magic\"\n",
		"[mcp.x]\ncommand = \"server\"\n", "[mcp.x]\nfrobnicate = true\n", "[mcp.\"../x\"]\noff = true\n", "\xff\n",
	} {
		out = append(out, mistake{args: "run -- tool", policy: file})
	}
	for _, file := range []string{
		"[files]\nmaask = [\"x\"]\n", "[network\n", "[secret.x]\nuse = \"github\"\nfrom = \"env:X\"\n",
	} {
		out = append(out, mistake{args: "run -- tool", wish: file})
	}
	for _, args := range []string{"policy check", "policy show", "env", "trust", "secret ls", "mcp ls", "why x.test"} {
		out = append(out, mistake{args: args, policy: "[files]\nmaask = [\"x\"]\n"})
	}
	return append(out, mistake{args: "policy check", policy: "[files]\nwrite = [\"/\", \"/usr/lib\"]\n[limits]\npids = 4\n"})
}
