#compdef ringfence
# Completion of ringfence for zsh. Made by `ringfence completion zsh`.

# _ringfence_ask offers what the program says there is of a kind.
_ringfence_ask() {
	local -a found
	found=(${(f)"$(_call_program $1 ringfence __complete $1 2>/dev/null)"})
	(( $#found )) && compadd -a found
}

_ringfence_claude() {
	_arguments -S \
		'*--help[explain it]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'*-d[start it, print its id and leave it alone; implies --keep]' \
		'*--dry-run[print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables]' \
		'*--keep[let the session outlive this terminal; ringfence attach comes back to it]' \
		'*--name[call the session NAME; no other that runs may be called so, and with one that has ended you can go on]:NAME: ' \
		'*--no-input[never ask anything, and tell nothing at the end]' \
		'*--summary[write how it ended as JSON to FILE, or to an open descriptor by its number]:FILE:_files' \
		'*--verbose[tell everything at the start and at the end, also without a terminal]' \
		'*--yes[do not pause before the start]' \
		'1: :{true}'
}

_ringfence_codex() {
	_arguments -S \
		'*--help[explain it]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'*-d[start it, print its id and leave it alone; implies --keep]' \
		'*--dry-run[print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables]' \
		'*--keep[let the session outlive this terminal; ringfence attach comes back to it]' \
		'*--name[call the session NAME; no other that runs may be called so, and with one that has ended you can go on]:NAME: ' \
		'*--no-input[never ask anything, and tell nothing at the end]' \
		'*--summary[write how it ended as JSON to FILE, or to an open descriptor by its number]:FILE:_files' \
		'*--verbose[tell everything at the start and at the end, also without a terminal]' \
		'*--yes[do not pause before the start]' \
		'1: :{true}'
}

_ringfence_gemini() {
	_arguments -S \
		'*--help[explain it]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'*-d[start it, print its id and leave it alone; implies --keep]' \
		'*--dry-run[print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables]' \
		'*--keep[let the session outlive this terminal; ringfence attach comes back to it]' \
		'*--name[call the session NAME; no other that runs may be called so, and with one that has ended you can go on]:NAME: ' \
		'*--no-input[never ask anything, and tell nothing at the end]' \
		'*--summary[write how it ended as JSON to FILE, or to an open descriptor by its number]:FILE:_files' \
		'*--verbose[tell everything at the start and at the end, also without a terminal]' \
		'*--yes[do not pause before the start]' \
		'1: :{true}'
}

_ringfence_opencode() {
	_arguments -S \
		'*--help[explain it]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'*-d[start it, print its id and leave it alone; implies --keep]' \
		'*--dry-run[print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables]' \
		'*--keep[let the session outlive this terminal; ringfence attach comes back to it]' \
		'*--name[call the session NAME; no other that runs may be called so, and with one that has ended you can go on]:NAME: ' \
		'*--no-input[never ask anything, and tell nothing at the end]' \
		'*--summary[write how it ended as JSON to FILE, or to an open descriptor by its number]:FILE:_files' \
		'*--verbose[tell everything at the start and at the end, also without a terminal]' \
		'*--yes[do not pause before the start]' \
		'1: :{true}'
}

_ringfence_run() {
	_arguments -S \
		'*--help[explain it]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'*-d[start it, print its id and leave it alone; implies --keep]' \
		'*--dry-run[print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables]' \
		'*--keep[let the session outlive this terminal; ringfence attach comes back to it]' \
		'*--name[call the session NAME; no other that runs may be called so, and with one that has ended you can go on]:NAME: ' \
		'*--no-input[never ask anything, and tell nothing at the end]' \
		'*--summary[write how it ended as JSON to FILE, or to an open descriptor by its number]:FILE:_files' \
		'*--verbose[tell everything at the start and at the end, also without a terminal]' \
		'*--yes[do not pause before the start]' \
		'*:: :_normal'
}

_ringfence_diff() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]' \
		'*--patch[print the differences in the form of git]' \
		'*--stat[print how many lines each file gained and lost]' \
		'1: :{_ringfence_ask sessions; _files; true}' \
		'*: :{_files; true}'
}

_ringfence_undo() {
	_arguments -S \
		'*--help[explain it]' \
		'*--force[also what was changed after the session]' \
		'*--json[print what became of each path as JSON; needs --yes]' \
		'*--redo[undo the last undo\: bring the session'\''s changes back]' \
		'*--verbose[print what became of each path, not only of the first ten]' \
		'*--yes[do not ask]' \
		'1: :{_ringfence_ask sessions; _files; true}' \
		'*: :{_files; true}'
}

_ringfence_why() {
	_arguments -S \
		'*--help[explain it]' \
		'*--agent[NAME of the agent that would be launched]:NAME: _ringfence_ask agents' \
		'*--host[the subject is a host]' \
		'*--json[print JSON]' \
		'*--last[explain the last refusal of a session]' \
		'*--path[the subject is a path]' \
		'*--push[the subject is a branch to push to]' \
		'*--variable[the subject is a variable of your environment]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'1: :{_files; true}'
}

_ringfence_ps() {
	_arguments -S \
		'*--help[explain it]' \
		'*-a[also sessions that have ended, and those that were killed]' \
		'*--json[print JSON]' \
		'*--memory[also how much memory each takes, shared pages by their share; slow with many]' \
		'*-q[print ids only]'
}

_ringfence_postures() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]' \
		'1: :{true}'
}

_ringfence_shell() {
	_arguments -S \
		'*--help[explain it]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'*-d[start it, print its id and leave it alone; implies --keep]' \
		'*--dry-run[print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables]' \
		'*--keep[let the session outlive this terminal; ringfence attach comes back to it]' \
		'*--name[call the session NAME; no other that runs may be called so, and with one that has ended you can go on]:NAME: ' \
		'*--no-input[never ask anything, and tell nothing at the end]' \
		'*--summary[write how it ended as JSON to FILE, or to an open descriptor by its number]:FILE:_files' \
		'*--verbose[tell everything at the start and at the end, also without a terminal]' \
		'*--yes[do not pause before the start]'
}

_ringfence_learn() {
	_arguments -S \
		'*--help[explain it]' \
		'*--forget[run nothing\: forget what earlier sessions of this project saw]' \
		'*--json[print the proposal as JSON; the command'\''s output goes to stderr]' \
		'*--project[propose for the project'\''s .ringfence.toml, not for your own policy]' \
		'*--save[write what is proposed into the policy file]' \
		'*--show[run nothing\: propose from what earlier sessions saw]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'*--no-input[never ask anything, and tell nothing at the end]' \
		'*--verbose[tell everything at the start and at the end, also without a terminal]' \
		'*--yes[do not pause before the start]' \
		'*:: :_normal'
}

_ringfence_status() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print everything about it as JSON\: also its plan, and the names of its variables and credentials]' \
		'*--line[print one line, as for a prompt; says so when nothing is fenced, and exits with 1]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_exec() {
	_arguments -S \
		'*--help[explain it]' \
		'*--dir[start in DIR, as it is called inside (default\: where the agent was started)]:DIR:_files' \
		'1: :{_ringfence_ask sessions; true}' \
		'*:: :_normal'
}

_ringfence_attach() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_detach() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_output() {
	_arguments -S \
		'*--help[explain it]' \
		'*-f[go on while the session runs]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_stop() {
	_arguments -S \
		'*--help[explain it]' \
		'*--all[all sessions that run]' \
		'*--time[how long they get to end by themselves, such as 10s; 0 kills at once]:10s: ' \
		'*: :{_ringfence_ask sessions; true}'
}

_ringfence_thaw() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_rm() {
	_arguments -S \
		'*--help[explain it]' \
		'*--discard[also changes that wait for review]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_apply() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print what became of each path as JSON; needs --yes]' \
		'*--partial[apply the rest where some changes cannot be applied]' \
		'*--verbose[print what became of each path, not only of the first ten]' \
		'*--yes[do not ask]' \
		'1: :{_ringfence_ask sessions; _files; true}' \
		'*: :{_files; true}'
}

_ringfence_discard() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print each path as JSON; needs --yes]' \
		'*--verbose[print each path, not only the first ten]' \
		'*--yes[do not ask]' \
		'1: :{_ringfence_ask sessions; _files; true}' \
		'*: :{_files; true}'
}

_ringfence_history() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print the list as JSON]' \
		'*--take-back[remove from the host what SESSION copied there]:SESSION: _ringfence_ask sessions'
}

_ringfence_requests() {
	_arguments -S \
		'*--help[explain it]' \
		'*--answer[answer the questions of one session, which waits for half a minute with each]' \
		'*--json[print JSON]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_grant() {
	_arguments -S \
		'*--help[explain it]' \
		'*--always[keep the rule for all projects]' \
		'*--for[for a time such as 30m]:30m: ' \
		'*--host[the HOST\[\:PORT\] to allow]:HOST[\:PORT]: ' \
		'*--project[keep the rule for this project]' \
		'*--session[until the session ends (the default)]' \
		'*--yes[keep it without asking]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_revoke() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask sessions; true}' \
		'2: :{true}'
}

_ringfence_tighten() {
	_arguments -S \
		'*--help[explain it]' \
		'*--net[the MODE to move to\: locked leaves the agent its model, none leaves nothing]:MODE: ' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_publish() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask sessions; true}' \
		'2: :{true}'
}

_ringfence_log() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C '*--help[explain it]' '*--denied[refusals only]' '*-f[go on while the session runs]' '*--json[print the records as JSON lines]' '*--kind[only these KINDS, with commas between them\: session, net, broker, decoy, work]:KINDS: ' '*--net[only the network and the use of credentials]' '1: :->first' '*:: :->rest' && return 0
	case $state in
	first)
		local -a list=(
			'list:list the sessions that have left a record'
			'verify:find out whether records are still what was written'
			'export:write a record for other programs, or for other people'
		)
		_describe subcommand list
		_ringfence_ask sessions
		;;
	rest)
		case $line[1] in
		list) _ringfence_log_list ;;
		verify) _ringfence_log_verify ;;
		export) _ringfence_log_export ;;
		*) _files ;;
		esac
		;;
	esac
}

_ringfence_log_list() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]'
}

_ringfence_log_verify() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]' \
		'*--since[what an earlier run printed as the register\: N\:HASH must still be in it]:N\:HASH: ' \
		'*: :{_ringfence_ask sessions; true}'
}

_ringfence_log_export() {
	_arguments -S \
		'*--help[explain it]' \
		'*--format[FORM\: jsonl, the lines as they are; or otlp, OTLP logs in JSON]:FORM: ' \
		'*-o[write to FILE]:FILE:_files' \
		'*--redact[replace paths, hosts, users and the names of secrets by pseudonyms; the result cannot be verified]' \
		'1: :{_ringfence_ask sessions; true}'
}

_ringfence_env() {
	_arguments -S \
		'*--help[explain it]' \
		'*--agent[NAME of the agent whose environment it is]:NAME: _ringfence_ask agents' \
		'*--json[print JSON]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: '
}

_ringfence_policy() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C '*--help[explain it]' '1: :->first' '*:: :->rest' && return 0
	case $state in
	first)
		local -a list=(
			'show:print the effective policy, with the source of every rule'
			'check:report rules that cannot be enforced'
			'test:hold a file of tests against the policy, or past sessions'
			'import:turn the settings of another tool into policy'
			'groups:list the groups of hosts, and which are on'
			'schema:print the JSON Schema of a policy file'
		)
		_describe subcommand list
		compadd show check test import groups schema
		;;
	rest)
		case $line[1] in
		show) _ringfence_policy_show ;;
		check) _ringfence_policy_check ;;
		test) _ringfence_policy_test ;;
		import) _ringfence_policy_import ;;
		groups) _ringfence_policy_groups ;;
		schema) _ringfence_policy_schema ;;
		*) _files ;;
		esac
		;;
	esac
}

_ringfence_policy_show() {
	_arguments -S \
		'*--help[explain it]' \
		'*--agent[NAME of the agent, with --resolved and --for-agent]:NAME: _ringfence_ask agents' \
		'*--for-agent[print what the agent is told instead]' \
		'*--resolved[also print the view it resolves to on this host]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: '
}

_ringfence_policy_check() {
	_arguments -S \
		'*--help[explain it]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: '
}

_ringfence_policy_test() {
	_arguments -S \
		'*--help[explain it]' \
		'*--agent[NAME of the agent that would be launched]:NAME: _ringfence_ask agents' \
		'*--json[print JSON]' \
		'*--live[also try each line in a throw-away sandbox; a difference is a failure]' \
		'*--policy[test FILE in the place of your policy.toml]:FILE:_files' \
		'*--replay[hold the decisions of past sessions against the policy as it is now\: of those that are named, or of all in this project]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'1: :{_files; true}'
}

_ringfence_policy_import() {
	_arguments -S \
		'*--help[explain it]' \
		'*--claude[read Claude Code'\''s settings]' \
		'*--codex[read Codex'\'' configuration]' \
		'*--from[read FILE instead of your own settings]:FILE:_files' \
		'*--json[print it as JSON]' \
		'*--save[write it into your policy file]' \
		'*--srt[read the settings of Anthropic'\''s sandbox runtime]'
}

_ringfence_policy_groups() {
	_arguments -S \
		'*--help[explain it]' \
		'*--hosts[also list their hosts]' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: '
}

_ringfence_policy_schema() {
	_arguments -S \
		'*--help[explain it]'
}

_ringfence_secret() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C '*--help[explain it]' '1: :->first' '*:: :->rest' && return 0
	case $state in
	first)
		local -a list=(
			'set:keep a secret, or say where it is kept'
			'ls:list the secrets, without their values'
			'test:read a secret as a session would, and say its shape'
			'rm:forget a secret'
		)
		_describe subcommand list
		compadd set ls test rm
		;;
	rest)
		case $line[1] in
		set) _ringfence_secret_set ;;
		ls) _ringfence_secret_ls ;;
		test) _ringfence_secret_test ;;
		rm) _ringfence_secret_rm ;;
		*) _files ;;
		esac
		;;
	esac
}

_ringfence_secret_set() {
	_arguments -S \
		'*--help[explain it]' \
		'*--env[a VARIABLE that holds, inside, what stands for it; may be repeated]:VARIABLE: ' \
		'*--from[where it is kept\: store (the default), env\:VAR, file\:PATH, pass\:NAME, keyring\:NAME or secret-service\:ATTR=VALUE\: SOURCE]:SOURCE: ' \
		'*--header[the NAME of the header, for --use header]:NAME: ' \
		'*--host[a HOST\[\:PORT\]\[/PATH\] that it is for, and no other, with the path of a registry below which it is; may be repeated (default\: the public host of the kind, if it has one)]:HOST[\:PORT][/PATH]: ' \
		'*--region[the REGION that is asked, for --use aws]:REGION: ' \
		'*--role[the ARN of the role that is assumed, for --use aws]:ARN: ' \
		'*--use[the KIND of credential\: anthropic, openai, gemini, github, gitlab, gitea, npm, pypi, cargo, go, maven, bearer, basic, header, aws (default\: NAME, if it is one)]:KIND: ' \
		'*--user[the NAME of the user, for --use basic and registries that want one]:NAME: ' \
		'1: :{true}' \
		'*:: :_normal'
}

_ringfence_secret_ls() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]'
}

_ringfence_secret_test() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask secrets; true}'
}

_ringfence_secret_rm() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask secrets; true}'
}

_ringfence_trust() {
	_arguments -S \
		'*--help[explain it]' \
		'*--remotes[accept the remotes that this repository has now, for the credentials of their hosts]' \
		'*--yes[accept without asking]'
}

_ringfence_audit() {
	_arguments -S \
		'*--help[explain it]' \
		'*--all[also show the inventory\: what is no weakness by itself]' \
		'*--json[print JSON]' \
		'*--sarif[print SARIF 2.1.0, for programs that show findings]' \
		'1: :{_files; true}'
}

_ringfence_scan() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print the findings as JSON]' \
		'1: :{_files; true}'
}

_ringfence_doctor() {
	_arguments -S \
		'*--help[explain it]' \
		'*--check[the same; for those who look for it]' \
		'*--fix[do what this user can, and print the rest as a script; nothing is done as root]' \
		'*--json[print JSON; it names no user, host or path and is safe to paste]' \
		'*--rung[look at this rung alone, as at ssh\:HOST for another machine]:ssh\:HOST: '
}

_ringfence_rungs() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]' \
		'*--levels[show what each level of the ladder buys and what breaks it, L0 to L5]'
}

_ringfence_verify() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]' \
		'*--rung[prove the rung NAME (default\: the one that policy uses)]:NAME: '
}

_ringfence_drill() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]' \
		'*: :{_ringfence_ask drills; compadd all; true}'
}

_ringfence_init() {
	_arguments -S \
		'*--help[explain it]' \
		'*--global[write your own policy instead, with nothing in it but explanations]' \
		'*--yes[write without asking]'
}

_ringfence_install() {
	_arguments -S \
		'*--help[explain it]' \
		'*--dir[the DIR of PATH; ~/.local/bin, or /usr/local/bin for root]:DIR:_files' \
		'*--dry-run[say what would be done]' \
		'*--json[print the list as JSON]' \
		'*--managed[as root, with claude\: refuse prompts outside of a sandbox, for every user]' \
		'*--print-prompt[print a prompt that has an agent try its sandbox]' \
		'*--rules[with claude\: rules for the bare agent in your settings; KIND is belt or strict]:KIND: ' \
		'*: :{_ringfence_ask agents; compadd all; true}'
}

_ringfence_uninstall() {
	_arguments -S \
		'*--help[explain it]' \
		'*--managed[as root\: take the gate away, and leave the shadows]' \
		'1: :{_ringfence_ask agents; compadd all; true}'
}

_ringfence_hook() {
	_arguments -S \
		'*--help[explain it]' \
		'*--check[judge this COMMAND line instead\: exit 0 passes, 1 does not]:COMMAND: ' \
		'*--gate[refuse prompts and tools outside of a sandbox]' \
		'1: :{_ringfence_ask agents; true}'
}

_ringfence_mcp() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C '*--help[explain it]' '1: :->first' '*:: :->rest' && return 0
	case $state in
	first)
		local -a list=(
			'run:run a server in its own sandbox, on stdin and stdout'
			'ls:list the servers that policy and agents know, and what is pinned'
			'trust:show what of a server'\''s tools changed, and accept it'
		)
		_describe subcommand list
		compadd run ls trust
		;;
	rest)
		case $line[1] in
		run) _ringfence_mcp_run ;;
		ls) _ringfence_mcp_ls ;;
		trust) _ringfence_mcp_trust ;;
		*) _files ;;
		esac
		;;
	esac
}

_ringfence_mcp_run() {
	_arguments -S \
		'*--help[explain it]' \
		'*--agent[AGENT whose settings say how the server starts, where policy does not]:AGENT: _ringfence_ask agents' \
		'*--for[what you are about to do\: POSTURE, such as research or untrusted-repo; ringfence postures lists them]:POSTURE: ' \
		'*--clone[work in a clone of the repository, of which the host fetches]' \
		'*--expose[let a granted path show the credentials at PATH]:PATH:_files' \
		'*--live[let changes reach the host at once, where the user'\''s own policy says review]' \
		'*--mask[hide PATH of the workspace]:PATH:_files' \
		'*--reveal[show PATH of the workspace as it is, although it holds secrets; may be a glob]:PATH:_files' \
		'*--review[keep changes from the host until they are applied after the session]' \
		'*--ro[show PATH read-only]:PATH:_files' \
		'*--rw[show PATH read-write]:PATH:_files' \
		'*--workspace[work in PATH\[\:ro\]; may be repeated (default\: the repository or directory you are in)]:PATH[\:ro]:_files' \
		'*--env[pass a variable, or set it\: NAME\[=VALUE\]]:NAME[=VALUE]: ' \
		'*--force-env[pass NAME although it is refused by default]:NAME: ' \
		'*--allow-host[let HOST\[\:PORT\] be reached, such as api.example.org or *.example.org\:8443]:HOST[\:PORT]: ' \
		'*--allow-ip[let the address or range CIDR\:PORT be reached, an internal one too]:CIDR\:PORT: ' \
		'*--deny-host[never let HOST\[\:PORT\] be reached]:HOST[\:PORT]: ' \
		'*--host-port[let port N of the host'\''s loopback be reached at the same number]:N: ' \
		'*--net[the network\: none, locked, dev, internet or open, and groups to switch, as in dev,+rust,-docs]:dev,+rust,-docs: ' \
		'*--on-hit[warn or tighten, when a tool returns text that tries to give orders]:warn: ' \
		'*--proxy[go out through a proxy\: URL, or env for HTTPS_PROXY]:URL: ' \
		'*--publish[show port \[HOST\:\]PORT of a server inside on the host'\''s loopback]:[HOST\:]PORT: ' \
		'*--allow-package[exempt the package NAME, npm\:NAME, pypi\:NAME, crates\:NAME or go\:PATH; * may stand at its end]:NAME: ' \
		'*--install-scripts[let packages run scripts when they are installed]' \
		'*--mcp[let the agent start the MCP server NAME of its settings on the host, in a sandbox of its own]:NAME: ' \
		'*--min-release-age[install packages only when their release is AGE old, such as 3d or 72h; 0 for no wait]:AGE: ' \
		'*--accel[what makes the processor of a virtual machine\: kvm|tcg]:kvm|tcg: ' \
		'*--image[run in a container with the programs of the image NAME\[@DIGEST\]]:NAME[@DIGEST]: ' \
		'*--memory[allow at most SIZE of memory, such as 4GiB]:SIZE: ' \
		'*--pids[allow at most N processes and threads]:N: ' \
		'*--rung[raise the walls on the rung NAME; ringfence rungs lists them]:NAME: ' \
		'1: :{true}' \
		'*:: :_normal'
}

_ringfence_mcp_ls() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]'
}

_ringfence_mcp_trust() {
	_arguments -S \
		'*--help[explain it]' \
		'*--yes[accept without asking]' \
		'1: :{true}'
}

_ringfence_tools() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C '*--help[explain it]' '1: :->first' '*:: :->rest' && return 0
	case $state in
	first)
		local -a list=(
			'add:fetch a tool'
			'ls:list the tools of this project'
			'rm:remove a tool'
		)
		_describe subcommand list
		compadd add ls rm
		;;
	rest)
		case $line[1] in
		add) _ringfence_tools_add ;;
		ls) _ringfence_tools_ls ;;
		rm) _ringfence_tools_rm ;;
		*) _files ;;
		esac
		;;
	esac
}

_ringfence_tools_add() {
	_arguments -S \
		'*--help[explain it]' \
		'*--project[only if the project here is the one at PATH]:PATH:_files' \
		'1: :{true}'
}

_ringfence_tools_ls() {
	_arguments -S \
		'*--help[explain it]' \
		'*--json[print JSON]'
}

_ringfence_tools_rm() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{true}'
}

_ringfence_gc() {
	_arguments -S \
		'*--help[explain it]' \
		'*--days[also what was not used for N days; sessions\: after N days, not 14]:N: ' \
		'*--discard[also old sessions in which changes wait]' \
		'*--json[print JSON; removes only with --yes]' \
		'*--package-size[packages that were not used longest go beyond SIZE in all, not 5GiB]:SIZE: ' \
		'*--yes[remove without asking]' \
		'*--log-bad[also records that are not what was written, which are kept as evidence otherwise]' \
		'*--log-days[records that were not written to for N days, not 30]:N: ' \
		'*--log-keep[but the newest N records in any case]:N: ' \
		'*--log-size[and the oldest beyond SIZE in all, such as 500MiB, at any age]:SIZE: '
}

_ringfence_completion() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{compadd bash zsh fish; true}'
}

_ringfence_man() {
	_arguments -S \
		'*--help[explain it]' \
		'*--dir[write all pages into the directory DIR, which must exist]:DIR:_files' \
		'1: :{_ringfence_ask commands; true}'
}

_ringfence_version() {
	_arguments -S \
		'*--help[explain it]'
}

_ringfence_help() {
	_arguments -S \
		'*--help[explain it]' \
		'1: :{_ringfence_ask commands; true}' \
		'2: :{true}'
}

_ringfence() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	_arguments -C  '1: :->first' '*:: :->rest' && return 0
	case $state in
	first)
		local -a list=(
			'claude:run Claude Code in a sandbox'
			'codex:run Codex in a sandbox'
			'gemini:run Gemini CLI in a sandbox'
			'opencode:run opencode in a sandbox'
			'run:run a command in a sandbox'
			'diff:show what a session changed, and what the host would run of it'
			'undo:bring back what a session changed or deleted on the host'
			'why:say which rule decides, and what the smallest grant would allow'
			'ps:list sessions'
			'postures:choose --for by the task: a stranger'\''s repository, the web, a night alone'
			'shell:open a shell in a sandbox'
			'learn:run a command, and propose the smallest policy for it'
			'status:show how strongly a session is fenced'
			'exec:run a command in a running session'
			'attach:take over the terminal of a kept session'
			'detach:let go of the terminal of a kept session'
			'output:show what a kept session printed'
			'stop:end running sessions'
			'thaw:let a frozen session go on'
			'rm:forget a session and what could be undone of it'
			'apply:bring to the host what waits in a session'
			'discard:forget what waits in a session'
			'history:list conversations that were copied to the host'
			'requests:show which hosts running sessions want and may not reach'
			'grant:allow a host in a running session'
			'revoke:take a host, an address or a port back from a running session'
			'tighten:move a running session to a stricter network'
			'publish:open a server of a running session on the host'\''s loopback'
			'log:show, verify or export what a session did and what was decided'
			'env:show what of the environment comes inside, by name'
			'policy:show or check the effective policy'
			'secret:keep, list, remove or try the secrets of the host'
			'trust:accept the project'\''s own policy and settings as they are now'
			'audit:show how exposed this machine and project are'
			'scan:show what of a repository would run when an agent opens it'
			'doctor:show what this host can enforce'
			'rungs:show where walls can stand on this host'
			'verify:prove every defence in a throw-away sandbox'
			'drill:play known incidents under your policy, in a throw-away workspace'
			'init:write a first policy for this project'
			'install:make the fenced agent the one on PATH'
			'uninstall:take back what install made'
			'hook:judge a tool call of an agent, for its hooks'
			'mcp:run MCP servers of the host, each in its own sandbox'
			'tools:fetch tools for this project that the machine lacks'
			'gc:remove stale state of projects and sessions'
			'completion:print the completion of a shell'
			'man:print the manual, or write its pages'
			'version:print the version'
			'help:explain a command'
		)
		_describe command list
		_ringfence_ask agents
		;;
	rest)
		case $line[1] in
		claude) _ringfence_claude ;;
		codex) _ringfence_codex ;;
		gemini) _ringfence_gemini ;;
		opencode) _ringfence_opencode ;;
		run) _ringfence_run ;;
		diff) _ringfence_diff ;;
		undo) _ringfence_undo ;;
		why) _ringfence_why ;;
		ps) _ringfence_ps ;;
		postures) _ringfence_postures ;;
		shell) _ringfence_shell ;;
		learn) _ringfence_learn ;;
		status) _ringfence_status ;;
		exec) _ringfence_exec ;;
		attach) _ringfence_attach ;;
		detach) _ringfence_detach ;;
		output) _ringfence_output ;;
		stop) _ringfence_stop ;;
		thaw) _ringfence_thaw ;;
		rm) _ringfence_rm ;;
		apply) _ringfence_apply ;;
		discard) _ringfence_discard ;;
		history) _ringfence_history ;;
		requests) _ringfence_requests ;;
		grant) _ringfence_grant ;;
		revoke) _ringfence_revoke ;;
		tighten) _ringfence_tighten ;;
		publish) _ringfence_publish ;;
		log) _ringfence_log ;;
		env) _ringfence_env ;;
		policy) _ringfence_policy ;;
		secret) _ringfence_secret ;;
		trust) _ringfence_trust ;;
		audit) _ringfence_audit ;;
		scan) _ringfence_scan ;;
		doctor) _ringfence_doctor ;;
		rungs) _ringfence_rungs ;;
		verify) _ringfence_verify ;;
		drill) _ringfence_drill ;;
		init) _ringfence_init ;;
		install) _ringfence_install ;;
		uninstall) _ringfence_uninstall ;;
		hook) _ringfence_hook ;;
		mcp) _ringfence_mcp ;;
		tools) _ringfence_tools ;;
		gc) _ringfence_gc ;;
		completion) _ringfence_completion ;;
		man) _ringfence_man ;;
		version) _ringfence_version ;;
		help) _ringfence_help ;;
		*) _ringfence_run ;;
		esac
		;;
	esac
}

if [[ $funcstack[1] == _ringfence ]]; then
	_ringfence "$@"
else
	compdef _ringfence ringfence
fi
