/**
 * Words before a command whose process the kernel ends with the process that starts it, however
 * that one ends: a test that fails, or a benchmark at its time limit. None where `setpriv` is missing.
 */
export const boundCommand: readonly string[] =
  Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];
