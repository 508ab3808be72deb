# __ringfence_state prints the command, the number of its arguments, and whether -- was.
function __ringfence_state
	set -l path ''
	set -l n 0
	set -l skip 0
	for word in (commandline -opc)[2..-1]
		if test $skip = 1
			set skip 0
		else if test "$word" = --
			printf '%s\n' "$path" $n beyond
			return
		else if string match -q -- '-*' "$word"
			contains -- "$word" (__ringfence_values "$path"); and set skip 1
		else if test $n = 0; and contains -- "$word" (__ringfence_subs "$path")
			set path (string trim "$path $word")
		else if test -z "$path"
			set path run # an agent of the user's has the same flags
		else
			set n (math $n + 1)
		end
	end
	printf '%s\n' "$path" $n here
end

# __ringfence_at: this command was typed, with this many arguments if it matters.
function __ringfence_at
	set -l state (__ringfence_state)
	test "$state[3]" = here; and test "$state[1]" = "$argv[1]"; or return 1
	test (count $argv) = 1; and return 0
	test "$state[2]" = "$argv[2]"; or test "$argv[3]" = more -a "$state[2]" -gt "$argv[2]"
end

function __ringfence_beyond
	set -l state (__ringfence_state)
	test "$state[3]" = beyond
end

