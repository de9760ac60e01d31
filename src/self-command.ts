/**
 * Command line that starts this program again: the executable or, when it runs from source, Bun and
 * the entry file.
 */
export const selfCommand: readonly string[] = Bun.main.startsWith("/$bunfs/")
  ? [process.execPath]
  : [process.execPath, Bun.main];
