const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
  /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Removes terminal escape sequences and control characters, except newlines and tabs, from a text
 * that a guest process sent and that may come from user code. Replaces unpaired surrogates, because
 * some parsers refuse JSON that contains one.
 */
export function printable(text: string): string {
  return text.replace(CONTROL, "").toWellFormed();
}
