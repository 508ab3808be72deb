# Completion of ringfence for bash. Made by `ringfence completion bash`.

_ringfence_subs() {
	case "$1" in
	'') echo 'claude codex gemini opencode run diff undo why ps postures shell learn status exec attach detach output stop thaw rm apply discard history requests grant revoke tighten publish log env policy secret trust audit scan doctor rungs verify drill init install uninstall hook mcp tools gc completion man version help' ;;
	'log') echo 'list verify export' ;;
	'policy') echo 'show check test import groups schema' ;;
	'secret') echo 'set ls test rm' ;;
	'mcp') echo 'run ls trust' ;;
	'tools') echo 'add ls rm' ;;
	esac
}

_ringfence_flags() {
	case "$1" in
	'claude') echo '--help --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung -d --dry-run --keep --name --no-input --summary --verbose --yes' ;;
	'codex') echo '--help --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung -d --dry-run --keep --name --no-input --summary --verbose --yes' ;;
	'gemini') echo '--help --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung -d --dry-run --keep --name --no-input --summary --verbose --yes' ;;
	'opencode') echo '--help --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung -d --dry-run --keep --name --no-input --summary --verbose --yes' ;;
	'run') echo '--help --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung -d --dry-run --keep --name --no-input --summary --verbose --yes' ;;
	'diff') echo '--help --json --patch --stat' ;;
	'undo') echo '--help --force --json --redo --verbose --yes' ;;
	'why') echo '--help --agent --host --json --last --path --push --variable --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'ps') echo '--help -a --json --memory -q' ;;
	'postures') echo '--help --json' ;;
	'shell') echo '--help --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung -d --dry-run --keep --name --no-input --summary --verbose --yes' ;;
	'learn') echo '--help --forget --json --project --save --show --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung --no-input --verbose --yes' ;;
	'status') echo '--help --json --line' ;;
	'exec') echo '--help --dir' ;;
	'attach') echo '--help' ;;
	'detach') echo '--help' ;;
	'output') echo '--help -f' ;;
	'stop') echo '--help --all --time' ;;
	'thaw') echo '--help' ;;
	'rm') echo '--help --discard' ;;
	'apply') echo '--help --json --partial --verbose --yes' ;;
	'discard') echo '--help --json --verbose --yes' ;;
	'history') echo '--help --json --take-back' ;;
	'requests') echo '--help --answer --json' ;;
	'grant') echo '--help --always --for --host --project --session --yes' ;;
	'revoke') echo '--help' ;;
	'tighten') echo '--help --net' ;;
	'publish') echo '--help' ;;
	'log') echo '--help --denied -f --json --kind --net' ;;
	'log list') echo '--help --json' ;;
	'log verify') echo '--help --json --since' ;;
	'log export') echo '--help --format -o --redact' ;;
	'env') echo '--help --agent --json --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy') echo '--help' ;;
	'policy show') echo '--help --agent --for-agent --resolved --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy check') echo '--help --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy test') echo '--help --agent --json --live --policy --replay --for --clone --expose --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy import') echo '--help --claude --codex --from --json --save --srt' ;;
	'policy groups') echo '--help --hosts --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy schema') echo '--help' ;;
	'secret') echo '--help' ;;
	'secret set') echo '--help --env --from --header --host --region --role --use --user' ;;
	'secret ls') echo '--help --json' ;;
	'secret test') echo '--help' ;;
	'secret rm') echo '--help' ;;
	'trust') echo '--help --remotes --yes' ;;
	'audit') echo '--help --all --json --sarif' ;;
	'scan') echo '--help --json' ;;
	'doctor') echo '--help --check --fix --json --rung' ;;
	'rungs') echo '--help --json --levels' ;;
	'verify') echo '--help --json --rung' ;;
	'drill') echo '--help --json' ;;
	'init') echo '--help --global --yes' ;;
	'install') echo '--help --dir --dry-run --json --managed --print-prompt --rules' ;;
	'uninstall') echo '--help --managed' ;;
	'hook') echo '--help --check --gate' ;;
	'mcp') echo '--help' ;;
	'mcp run') echo '--help --agent --for --clone --expose --live --mask --reveal --review --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --install-scripts --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'mcp ls') echo '--help --json' ;;
	'mcp trust') echo '--help --yes' ;;
	'tools') echo '--help' ;;
	'tools add') echo '--help --project' ;;
	'tools ls') echo '--help --json' ;;
	'tools rm') echo '--help' ;;
	'gc') echo '--help --days --discard --json --package-size --yes --log-bad --log-days --log-keep --log-size' ;;
	'completion') echo '--help' ;;
	'man') echo '--help --dir' ;;
	'version') echo '--help' ;;
	'help') echo '--help' ;;
	esac
}

_ringfence_values() {
	case "$1" in
	'claude') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung --name --summary' ;;
	'codex') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung --name --summary' ;;
	'gemini') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung --name --summary' ;;
	'opencode') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung --name --summary' ;;
	'run') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung --name --summary' ;;
	'why') echo '--agent --for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'shell') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung --name --summary' ;;
	'learn') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'exec') echo '--dir' ;;
	'stop') echo '--time' ;;
	'history') echo '--take-back' ;;
	'grant') echo '--for --host' ;;
	'tighten') echo '--net' ;;
	'log') echo '--kind' ;;
	'log verify') echo '--since' ;;
	'log export') echo '--format -o' ;;
	'env') echo '--agent --for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy show') echo '--agent --for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy check') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy test') echo '--agent --policy --for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'policy import') echo '--from' ;;
	'policy groups') echo '--for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'secret set') echo '--env --from --header --host --region --role --use --user' ;;
	'doctor') echo '--rung' ;;
	'verify') echo '--rung' ;;
	'install') echo '--dir --rules' ;;
	'hook') echo '--check' ;;
	'mcp run') echo '--agent --for --expose --mask --reveal --ro --rw --workspace --env --force-env --allow-host --allow-ip --deny-host --host-port --net --on-hit --proxy --publish --allow-package --mcp --min-release-age --accel --image --memory --pids --rung' ;;
	'tools add') echo '--project' ;;
	'gc') echo '--days --package-size --log-days --log-keep --log-size' ;;
	'man') echo '--dir' ;;
	esac
}

_ringfence_kind() {
	case "$1 $2" in
	'claude --expose') echo 'files' ;;
	'claude --mask') echo 'files' ;;
	'claude --reveal') echo 'files' ;;
	'claude --ro') echo 'files' ;;
	'claude --rw') echo 'files' ;;
	'claude --workspace') echo 'files' ;;
	'claude --summary') echo 'files' ;;
	'codex --expose') echo 'files' ;;
	'codex --mask') echo 'files' ;;
	'codex --reveal') echo 'files' ;;
	'codex --ro') echo 'files' ;;
	'codex --rw') echo 'files' ;;
	'codex --workspace') echo 'files' ;;
	'codex --summary') echo 'files' ;;
	'gemini --expose') echo 'files' ;;
	'gemini --mask') echo 'files' ;;
	'gemini --reveal') echo 'files' ;;
	'gemini --ro') echo 'files' ;;
	'gemini --rw') echo 'files' ;;
	'gemini --workspace') echo 'files' ;;
	'gemini --summary') echo 'files' ;;
	'opencode --expose') echo 'files' ;;
	'opencode --mask') echo 'files' ;;
	'opencode --reveal') echo 'files' ;;
	'opencode --ro') echo 'files' ;;
	'opencode --rw') echo 'files' ;;
	'opencode --workspace') echo 'files' ;;
	'opencode --summary') echo 'files' ;;
	'run --expose') echo 'files' ;;
	'run --mask') echo 'files' ;;
	'run --reveal') echo 'files' ;;
	'run --ro') echo 'files' ;;
	'run --rw') echo 'files' ;;
	'run --workspace') echo 'files' ;;
	'run --summary') echo 'files' ;;
	'why --agent') echo 'agents' ;;
	'why --expose') echo 'files' ;;
	'why --mask') echo 'files' ;;
	'why --reveal') echo 'files' ;;
	'why --ro') echo 'files' ;;
	'why --rw') echo 'files' ;;
	'why --workspace') echo 'files' ;;
	'shell --expose') echo 'files' ;;
	'shell --mask') echo 'files' ;;
	'shell --reveal') echo 'files' ;;
	'shell --ro') echo 'files' ;;
	'shell --rw') echo 'files' ;;
	'shell --workspace') echo 'files' ;;
	'shell --summary') echo 'files' ;;
	'learn --expose') echo 'files' ;;
	'learn --mask') echo 'files' ;;
	'learn --reveal') echo 'files' ;;
	'learn --ro') echo 'files' ;;
	'learn --rw') echo 'files' ;;
	'learn --workspace') echo 'files' ;;
	'exec --dir') echo 'files' ;;
	'history --take-back') echo 'sessions' ;;
	'log export -o') echo 'files' ;;
	'env --agent') echo 'agents' ;;
	'env --expose') echo 'files' ;;
	'env --mask') echo 'files' ;;
	'env --reveal') echo 'files' ;;
	'env --ro') echo 'files' ;;
	'env --rw') echo 'files' ;;
	'env --workspace') echo 'files' ;;
	'policy show --agent') echo 'agents' ;;
	'policy show --expose') echo 'files' ;;
	'policy show --mask') echo 'files' ;;
	'policy show --reveal') echo 'files' ;;
	'policy show --ro') echo 'files' ;;
	'policy show --rw') echo 'files' ;;
	'policy show --workspace') echo 'files' ;;
	'policy check --expose') echo 'files' ;;
	'policy check --mask') echo 'files' ;;
	'policy check --reveal') echo 'files' ;;
	'policy check --ro') echo 'files' ;;
	'policy check --rw') echo 'files' ;;
	'policy check --workspace') echo 'files' ;;
	'policy test --agent') echo 'agents' ;;
	'policy test --policy') echo 'files' ;;
	'policy test --expose') echo 'files' ;;
	'policy test --mask') echo 'files' ;;
	'policy test --reveal') echo 'files' ;;
	'policy test --ro') echo 'files' ;;
	'policy test --rw') echo 'files' ;;
	'policy test --workspace') echo 'files' ;;
	'policy import --from') echo 'files' ;;
	'policy groups --expose') echo 'files' ;;
	'policy groups --mask') echo 'files' ;;
	'policy groups --reveal') echo 'files' ;;
	'policy groups --ro') echo 'files' ;;
	'policy groups --rw') echo 'files' ;;
	'policy groups --workspace') echo 'files' ;;
	'install --dir') echo 'files' ;;
	'hook --check') echo 'commands' ;;
	'mcp run --agent') echo 'agents' ;;
	'mcp run --expose') echo 'files' ;;
	'mcp run --mask') echo 'files' ;;
	'mcp run --reveal') echo 'files' ;;
	'mcp run --ro') echo 'files' ;;
	'mcp run --rw') echo 'files' ;;
	'mcp run --workspace') echo 'files' ;;
	'tools add --project') echo 'files' ;;
	'man --dir') echo 'files' ;;
	esac
}

_ringfence_args() {
	case "$1 $2" in
	'diff 0') echo 'sessions files' ;;
	'diff 1') echo 'files' ;;
	'undo 0') echo 'sessions files' ;;
	'undo 1') echo 'files' ;;
	'why 0') echo 'files' ;;
	'status 0') echo 'sessions' ;;
	'exec 0') echo 'sessions' ;;
	'attach 0') echo 'sessions' ;;
	'detach 0') echo 'sessions' ;;
	'output 0') echo 'sessions' ;;
	'stop 0') echo 'sessions' ;;
	'thaw 0') echo 'sessions' ;;
	'rm 0') echo 'sessions' ;;
	'apply 0') echo 'sessions files' ;;
	'apply 1') echo 'files' ;;
	'discard 0') echo 'sessions files' ;;
	'discard 1') echo 'files' ;;
	'requests 0') echo 'sessions' ;;
	'grant 0') echo 'sessions' ;;
	'revoke 0') echo 'sessions' ;;
	'tighten 0') echo 'sessions' ;;
	'publish 0') echo 'sessions' ;;
	'log 0') echo 'sessions' ;;
	'log verify 0') echo 'sessions' ;;
	'log export 0') echo 'sessions' ;;
	'policy 0') echo '=show =check =test =import =groups =schema' ;;
	'policy test 0') echo 'files' ;;
	'secret 0') echo '=set =ls =test =rm' ;;
	'secret test 0') echo 'secrets' ;;
	'secret rm 0') echo 'secrets' ;;
	'audit 0') echo 'files' ;;
	'scan 0') echo 'files' ;;
	'drill 0') echo 'drills =all' ;;
	'install 0') echo 'agents =all' ;;
	'uninstall 0') echo 'agents =all' ;;
	'hook 0') echo 'agents' ;;
	'mcp 0') echo '=run =ls =trust' ;;
	'tools 0') echo '=add =ls =rm' ;;
	'completion 0') echo '=bash =zsh =fish' ;;
	'man 0') echo 'commands' ;;
	'help 0') echo 'commands' ;;
	esac
}

# _ringfence_offer adds what there is of a kind to the reply: program, word, kind.
_ringfence_offer() {
	local line
	case $3 in
	=*) line=${3#=} ;;
	files) compopt -o filenames; line= ;;
	commands) line=$(_ringfence_subs '') ;;
	*) line=$("$1" __complete "$3" 2>/dev/null) ;;
	esac
	if [[ $3 == files ]]; then
		while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$2")
		return
	fi
	while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$line" -- "$2")
}

_ringfence() {
	local cur=${COMP_WORDS[COMP_CWORD]} path= word skip= kind i n=0
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $skip ]]; then
			skip=
		elif [[ $word == -- ]]; then # from here on it is somebody else's command
			if ((i == COMP_CWORD - 1)); then
				while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$cur")
			fi
			compopt -o bashdefault -o default
			return
		elif [[ $word == -* ]]; then
			[[ " $(_ringfence_values "$path") " == *" $word "* ]] && skip=$word
		elif [[ " $(_ringfence_subs "$path") " == *" $word "* ]] && ((n == 0)); then
			path=${path:+$path }$word
		elif [[ -z $path ]]; then
			path=run # an agent of the user's has the same flags
		else
			((n++))
		fi
	done
	if [[ $skip ]]; then
		kind=$(_ringfence_kind "$path" "$skip")
		[[ $kind ]] && _ringfence_offer "$1" "$cur" "$kind"
		return 0
	fi
	if [[ $cur == -* ]]; then
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$(_ringfence_flags "$path")" -- "$cur")
		return 0
	fi
	if ((n == 0)); then
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$(_ringfence_subs "$path")" -- "$cur")
	fi
	[[ -z $path ]] && _ringfence_offer "$1" "$cur" agents
	for kind in $(_ringfence_args "$path" "$n"); do
		_ringfence_offer "$1" "$cur" "$kind"
	done
	return 0
}

complete -F _ringfence ringfence
