/** Command line that starts this executable again. In a checkout, it is Bun with the entry file. */
export const selfCommand: readonly string[] = Bun.main.startsWith("/$bunfs/")
  ? [process.execPath]
  : [process.execPath, Bun.main];
