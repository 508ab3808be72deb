'use strict'
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
    const shell = options && options.shell === true && env.npm_lifecycle_event ? "script-shell" : options && options.shell
    delete env.ringfence_dependency
    if (env.npm_lifecycle_event && !member(fs.realpathSync(options && options.cwd || process.cwd()))) env.ringfence_dependency = 'a dependency'
    return spawn(program, args, Object.assign({}, options, {env, shell}))
  }
  process.env.yarn_ignore_scripts = '' // ~/.yarnrc says it for who does not come here
}
process.argv[1] = own
require(own)
