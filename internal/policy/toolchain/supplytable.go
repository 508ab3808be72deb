package toolchain

import (
	"strings"
	"time"
)

// variable is one variable of the environment; an empty value leaves it out.
type variable struct {
	tool, name string
	value      func(situation) string
	why        string
}

// document is one file; no data leaves it out. If the tool looks for it under
// XDG_CONFIG_HOME, xdg is its name there.
type document struct {
	tool, path, xdg string
	data            func(situation) string
	why             string
}

// remark is what a reader of the journal or of the report should know.
type remark struct {
	when func(situation) bool
	text string
}

// variables were tried with npm 6 to 12, pnpm 8 to 12, yarn 1 to 4.18, bun 1.2 and
// 1.4 and pip 23: none of them makes one of these tools fail or warn, but for the one
// that says so. Names under npm_config_ are npm's own: npm 11 warns at every call of
// one that it does not know.
var variables = []variable{
	{"npm", "npm_config_before", func(c situation) string { return only(c.alone(), c.date()) },
		"npm since 6.9 takes no version published later; min-release-age is unknown before 11.10"},
	{"npm", "npm_config_min_release_age_exclude", func(c situation) string { return only(c.alone(), strings.Join(c.npm, ",")) },
		"npm since 11.17 exempts these; 11.0 to 11.16 warn that they do not know it"},
	{"pnpm", "pnpm_config_minimum_release_age", func(c situation) string { return only(c.alone(), c.minutes()) },
		"pnpm since 11 takes no younger version"},
	{"npm", "npm_config_script_shell", func(c situation) string { return only(c.silent(), c.Shell) },
		"npm and pnpm before 11 run scripts by it, and it runs no install scripts of dependencies"},
	{"pnpm", "pnpm_config_minimum_release_age_exclude", func(c situation) string { return only(c.aged() && len(c.npm) > 0, list(c.npm)) },
		"pnpm since 11 waits a day by itself, and exempts these"},
	{"pnpm", "pnpm_config_script_shell", func(c situation) string { return only(c.silent(), c.Shell) },
		"pnpm since 11 runs scripts by it"},
	{"pnpm", "pnpm_config_allow_builds", func(c situation) string { return only(c.silent() && len(c.exact) > 0, builds(c.exact)) },
		"pnpm since 12 runs the scripts of these alone; pnpm 11 of those that the project names"},
	{"pnpm", "pnpm_config_strict_dep_builds", func(c situation) string { return only(c.silent(), "false") },
		"pnpm since 11 says which scripts it left out, and does not fail"},
	{"yarn", "YARN_ENABLE_SCRIPTS", func(c situation) string { return only(c.silent(), "false") },
		"yarn since 2 runs no install scripts of dependencies"},
	{"pip", "PIP_UPLOADED_PRIOR_TO", func(c situation) string { return only(c.alone(), c.date()) },
		"pip since 26.0 takes no file uploaded later; older ones do not read it"},
	{"pip", "PIP_ONLY_BINARY", func(c situation) string { return only(c.silent(), ":all:") },
		"pip takes wheels alone from an index, so no setup.py runs"},
	{"uv", "UV_EXCLUDE_NEWER", func(c situation) string { return only(c.alone(), c.day()) },
		"uv since 0.2.12 takes no file uploaded later; a span of time is an error before 0.9.17"},
	{"uv", "UV_NO_BUILD", func(c situation) string { return only(c.silent() && c.NoBuild, "1") },
		"uv since 0.6.5 builds nothing from source"},
	{"uv", "UV_NO_BINARY_PACKAGE", func(c situation) string { return only(c.silent() && c.NoBuild, strings.Join(c.pypi, " ")) },
		"uv builds these all the same, and always"},
}

// documents are for what a variable cannot say to every version: yarn fails at a YARN_
// variable that it does not know, and bun has none. In these files all of them pass over
// what they do not know.
var documents = []document{
	{"pnpm", "~/.config/pnpm/rc", "pnpm/rc", func(c situation) string {
		age := only(c.alone(), "minimum-release-age="+c.minutes()+"\n"+lines("minimum-release-age-exclude[]=", c.npm))
		return age + only(c.silent(), lines("only-built-dependencies[]=", c.exact))
	}, "pnpm 10 runs the scripts of these; since 10.16 it takes no younger version"},
	{"yarn", "~/.yarnrc.yml", "", situation.yarnrcYML, "yarn since 4.15 waits a day by itself, and exempts these; it runs the scripts of these alone"},
	{"yarn", "~/.yarnrc", "", situation.yarnrc, "yarn 1 runs no install scripts but by the shell of ours, to which it is handed over"},
	{"bun", "~/.bunfig.toml", ".bunfig.toml", func(c situation) string {
		age := only(c.alone(), "minimumReleaseAge = "+c.seconds()+"\n"+prefixed("minimumReleaseAgeExcludes = ", c.exact))
		scripts := only(c.silent(), "ignoreScripts = true\n")
		return only(age+scripts != "", "[install]\n"+age+scripts)
	}, "bun runs no install scripts; since 1.3 it takes no younger version"},
}

var remarks = []remark{
	{situation.alone, "no release age before: pip 26.0, uv 0.2.12"},
	{situation.alone, "no release age before: npm 6.9, pnpm 10.16, yarn 4.10, bun 1.3; yarn 1 has none"},
	{situation.aged, "pip, uv: an index that does not give upload times has nothing to install"},
	{situation.alone, "uv: the date is written into uv.lock; --locked fails with a lock file made without it, --frozen works"},
	{func(c situation) bool { return c.aged() && c.Age < 24*time.Hour }, "pnpm since 11 and yarn since 4.15 wait a day by themselves: this age is shorter"},
	{situation.silent, "bun: install scripts of the project itself are off too; bun: its bunfig.toml can turn scripts on before 1.4; yarn since 2: dependenciesMeta in package.json can"},
	{situation.silent, "pip: a local directory or a repository address is built all the same"},
	{func(c situation) bool { return c.silent() && !c.NoBuild }, "uv: source distributions are built: UV_NO_BUILD would keep uv from building the project too"},
	{func(c situation) bool { return c.silent() && c.NoBuild }, "uv: the project itself is not built unless it is allowed by its name, and uv build fails"},
	{func(c situation) bool { return c.silent() && len(c.exact) > 0 }, "scripts that only the project can allow: npm since 12 (allowScripts in package.json), pnpm 11 (allowBuilds in pnpm-workspace.yaml); bun: none"},
}

// only is the value if it is to be said at all.
func only(say bool, value string) string {
	if !say {
		return ""
	}
	return value
}

// lines puts every name on a line of its own.
func lines(key string, names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(key + name + "\n")
	}
	return b.String()
}

// prefixed is one line with all names, or none.
func prefixed(key string, names []string) string {
	return only(len(names) > 0, key+list(names)+"\n")
}
