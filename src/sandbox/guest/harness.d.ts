/** The file's text (imported with `type: "text"`). */
declare const text: string;
// biome-ignore lint/style/noDefaultExport: a text module has no other export.
export default text;
