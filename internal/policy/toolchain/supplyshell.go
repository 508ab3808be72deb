package toolchain

import "strings"

// shell is the program by which npm and pnpm run scripts of packages. Those of the
// project run, and so do the dependencies' own tests and builds where somebody asks for
// them by name; what a dependency wants to run because it is installed does not, unless
// its name is allowed. The name is that of its place in node_modules, and its own must be
// the same: what a package calls itself is its author's word.
//
// Left at risk: the agent can set another shell. It is a brake, not a wall.
func (c situation) shell() string {
	allowed := strings.Join(c.npm, "|") // names of npm have nothing in them that a pattern reads otherwise, but the star of a scope
	open := "\t\t:\n"
	if allowed != "" {
		open = "\t\tcase $name in " + allowed + ")\n\t\t\tcase $npm_package_name in " + allowed + ") exec /bin/sh \"$@\" ;; esac ;;\n\t\tesac\n"
	}
	return `#!/bin/sh
# ringfence: install scripts of dependencies run only if a person allowed them by name.
at=$(pwd -P)
case $at/ in
*/node_modules/*) name=${at##*/node_modules/} ;;
*/_cacache/tmp/*) name='a git dependency' ;; # its own name is its author's word
*) name=$ringfence_dependency ;; # yarn 1 unpacks elsewhere too, and tells so here
esac
if [ -n "$name" ]; then
	case $npm_lifecycle_event in
	preinstall|install|postinstall|prepublish|preprepare|prepare|postprepare)
` + open + `		echo "ringfence: the $npm_lifecycle_event script of $name is not run; a person can allow it: ringfence run --allow-package npm:$name" >&2
		exit 0 ;;
	esac
fi
exec /bin/sh "$@"
`
}
