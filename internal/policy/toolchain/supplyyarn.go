package toolchain

import (
	"path"
	"strconv"
	"strings"
)

// yarn has no setting for a shell of install scripts. Both of these are loaded by documented
// settings of its own in the home directory; without them no script of a
// dependency runs.

// beside is a file in the directory of the shell.
func (c situation) beside(name string) string { return path.Join(path.Dir(c.Shell), name) }

const (
	yarnOne    = "yarn-1.cjs"
	yarnPlugin = "yarn-plugin.cjs"
)

// again is a program that yarn 1 hands over to (yarn-path). It starts the same yarn with
// install scripts on and run by our shell, which passes over those of dependencies.
// A yarn that the project names itself (yarnPath) is started as it is: it has settings of
// its own.
func (c situation) again() string {
	return `'use strict'
// ringfence: install scripts of the project run, those of dependencies only if a person allowed them by name.
const fs = require('fs'), path = require('path'), child = require('child_process')
function named(dir) {
  try {
    const found = /^yarnPath: *["']?([^"'\n]+)/m.exec(fs.readFileSync(path.join(dir, '.yarnrc.yml'), 'utf8'))
    if (found) return path.resolve(dir, found[1].trim())
  } catch (e) {}
  return path.dirname(dir) === dir ? '' : named(path.dirname(dir))
}
function caller() {
  const at = '/proc/' + process.ppid
  const found = fs.readFileSync(at + '/cmdline', 'utf8').split('\0').find(a => /(^|\/)yarn(pkg)?(\.c?js)?$/.test(a))
  return found && fs.realpathSync(path.resolve(fs.readlinkSync(at + '/cwd'), found))
}
// The project and its workspaces: what lies elsewhere is a dependency, wherever yarn unpacks it.
const asked = process.argv.indexOf('--cwd')
const start = fs.realpathSync(asked > 0 && process.argv[asked + 1] || process.cwd())
const glob = g => new RegExp('^' + g.replace(/^\.\//, '').replace(/\/+$/, '').replace(/[.+^${}()|[\]\\?]/g, '\\$&').replace(/\*\*/g, '\u0000').replace(/\*/g, '[^/]+').replace(/\u0000/g, '.+') + '$')
function member(dir, top = start) {
  let p = null
  try { p = JSON.parse(fs.readFileSync(path.join(top, 'package.json'), 'utf8')) } catch (e) {}
  const rel = path.relative(top, dir)
  const spaces = p && [].concat(p.workspaces && p.workspaces.packages || p.workspaces || []).filter(g => typeof g === 'string')
  if (p && (rel === '' || !rel.split('/').includes('node_modules') && spaces.some(g => glob(g).test(rel)))) return true
  return path.dirname(top) !== top && member(dir, path.dirname(top))
}
const other = named(process.cwd())
const own = other || caller()
if (!own) {
  console.error('ringfence: which yarn this is cannot be told; YARN_IGNORE_PATH=1 starts it without install scripts')
  process.exit(1)
}
if (!other) {
  const spawn = child.spawn
  child.spawn = (program, args, options) => {
    const env = Object.assign({}, options && options.env || process.env)
    delete env.YARN_IGNORE_PATH // a yarn that a script starts comes here as well
    delete env.yarn_ignore_scripts
    const shell = options && options.shell === true && env.npm_lifecycle_event ? ` + strconv.Quote(c.Shell) + ` : options && options.shell
    delete env.ringfence_dependency
    if (env.npm_lifecycle_event && !member(fs.realpathSync(options && options.cwd || process.cwd()))) env.ringfence_dependency = 'a dependency'
    return spawn(program, args, Object.assign({}, options, {env, shell}))
  }
  process.env.yarn_ignore_scripts = '' // ~/.yarnrc says it for who does not come here
}
process.argv[1] = own
require(own)
`
}

// plugin has yarn since 2 run the install scripts of the packages that are allowed, as if
// the project's dependenciesMeta named them.
func (c situation) plugin() string {
	return `'use strict'
// ringfence: a person allowed the install scripts of these by name.
const allowed = ` + list(c.npm) + `
const may = name => allowed.some(a => a === name || a.endsWith('/*') && name.startsWith(a.slice(0, -1)))
module.exports = {
  name: '@yarnpkg/plugin-ringfence',
  factory: () => ({hooks: {validateProject(project) {
    const ask = project.getDependencyMeta.bind(project)
    project.getDependencyMeta = (ident, version) => {
      const meta = ask(ident, version)
      return may(ident.scope ? '@' + ident.scope + '/' + ident.name : ident.name) ? Object.assign({built: true}, meta) : meta
    }
  }}}),
}
`
}

// scripted are the files by which package managers run scripts.
func (c situation) scripted() []SupplyFile {
	if !c.silent() || c.Shell == "" {
		return nil
	}
	files := []SupplyFile{
		{Path: c.Shell, Data: []byte(c.shell()), Tool: "npm", Exec: true, Why: "runs no install scripts of dependencies"},
		{Path: c.beside(yarnOne), Data: []byte(c.again()), Tool: "yarn", Why: "yarn 1 runs scripts by the same shell"},
	}
	if len(c.npm) > 0 {
		files = append(files, SupplyFile{Path: c.beside(yarnPlugin), Data: []byte(c.plugin()), Tool: "yarn", Why: "yarn since 2 runs the scripts of what is allowed"})
	}
	return files
}

// yarnrc is what yarn 1 reads.
func (c situation) yarnrc() string {
	var b strings.Builder
	if c.silent() {
		b.WriteString("ignore-scripts true\n")
		if c.Shell != "" {
			b.WriteString("yarn-path " + strconv.Quote(c.beside(yarnOne)) + "\n")
		}
	}
	return b.String()
}

// yarnrcYML is what yarn since 2 reads.
func (c situation) yarnrcYML() string {
	text := only(c.alone(), "npmMinimalAgeGate: "+c.minutes()+"\n") + only(c.aged(), prefixed("npmPreapprovedPackages: ", c.npm))
	if c.silent() && c.Shell != "" && len(c.npm) > 0 {
		text += "plugins:\n  - path: " + strconv.Quote(c.beside(yarnPlugin)) + "\n    spec: \"@yarnpkg/plugin-ringfence\"\n"
	}
	return text
}
