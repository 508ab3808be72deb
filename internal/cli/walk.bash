# _ringfence_offer adds what there is of a kind to the reply: program, word, kind.
_ringfence_offer() {
	local line
	case $3 in
	=*) line=${3#=} ;;
	files) compopt -o filenames; line= ;;
	commands) line=$(_ringfence_subs '') ;;
	*) line=$("$1" ASKED "$3" 2>/dev/null) ;;
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
